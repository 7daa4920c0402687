def write(measured, folder): pass

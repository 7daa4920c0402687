def drawn(seed,count): return []

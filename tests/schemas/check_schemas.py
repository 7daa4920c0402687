"""Validates every graph and every file of operators against the JSON Schemas, and spoils each mapping of theirs in turn:
the schemas must take what kgen takes, and mark what it does not.

    check_schemas.py --kgen build/generator/kgen --source .
"""

import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/setup installs it")
    sys.exit(77)


def mappings_in(tree, path=()):
    """The path of each mapping below."""
    if isinstance(tree, dict):
        yield path
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, child in children:
        yield from mappings_in(child, path + (key,))


def has_free_keys(path):
    """Mappings whose keys a person chooses."""
    names = {"dims", "inputs", "constants", "state", "functions", "outputs", "operands", "results", "attributes", "types",
             "sizes", "identity"}
    return bool(path) and (path[-1] in names or path[-1] == "view" or "nodes" in path[:-1] and {"expansion", "prepared", "spellings"} & set(path)
                           or path[-2:-1] == ("expansion",))


def spoilt(tree, path):
    """A copy with a key that does not exist in the mapping at `path`."""
    result = copy.deepcopy(tree)
    place = result
    for key in path:
        place = place[key]
    place["no_such_key"] = {"nor": "this"}
    return result


def examples_in(page):
    return re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    options = parser.parse_args()
    specs = options.source / "specs"
    custom = specs / "graphs" / "custom"
    own_ops = custom / "my_ops.yaml"
    command = [options.kgen, "schema", "--specs", own_ops, "--kernels", custom / "my_kernels"]
    schema = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    graphs = jsonschema.Draft202012Validator(json.loads(schema))
    operators = jsonschema.Draft202012Validator(json.loads((specs / "schemas" / "operators.schema.json").read_text()))
    for validator in (graphs, operators):
        validator.check_schema(validator.schema)

    documents = [(operators, path.name, path.read_text()) for path in [*sorted((specs / "ops").glob("*.yaml")), own_ops]]
    for folder in (specs / "graphs", custom, options.source / "tests/examples/graphs"):
        documents += [(graphs, path.name, path.read_text()) for path in sorted(folder.glob("*.yaml")) if path != own_ops]
    documents += [(graphs, "GRAPHS.md", text) for text in examples_in(specs / "GRAPHS.md")]
    documents += [(operators, "OPERATORS.md", text) for text in examples_in(specs / "OPERATORS.md") if "graph:" not in text]

    failed, spoilt_count = 0, 0
    for validator, name, text in documents:
        tree = yaml.safe_load(text)
        for error in validator.iter_errors(tree):
            print(f"{name}: {list(error.absolute_path)}: {error.message}")
            failed += 1
        for path in mappings_in(tree):
            if has_free_keys(path):
                continue
            spoilt_count += 1
            if validator.is_valid(spoilt(tree, path)):
                print(f"{name}: an unknown key is taken in {list(path)}")
                failed += 1
    print(f"{len(documents)} files, spoilt in {spoilt_count} ways: {failed} problems")
    return 1 if failed or spoilt_count < 500 else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Copies the best inputs of BUILD/corpus/NAME to the tree's corpus, as found-DIGEST: those that
together reach the most code that no input of the tree reaches. A tree with all of them would be
large.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES_MAX = 4096


def files_in(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def features(program, folders):
    """The code that each file reaches: {path: set of features}, from libFuzzer's merge."""
    with tempfile.TemporaryDirectory() as scratch:
        merged, control = os.path.join(scratch, "merged"), os.path.join(scratch, "control")
        os.mkdir(merged)
        subprocess.run([program, "-set_cover_merge=1", "-use_counters=0",
                        f"-merge_control_file={control}", merged, *folders], check=True,
                       capture_output=True)
        with open(control, encoding="utf-8") as file:
            lines = file.read().splitlines()
    count = int(lines[0])
    paths = lines[2:2 + count]
    reached = [line.split()[1:] for line in lines[2 + count:] if line.startswith("FT ")]
    return {paths[int(index)]: set(found) for index, *found in reached}


def best(candidates, reached, count):
    """Greedy: the input with the most new features, again and again."""
    while count > 0 and candidates:
        path = max(candidates, key=lambda each: (len(candidates[each] - reached), each))
        if not candidates[path] - reached:
            return
        yield path
        reached |= candidates.pop(path)
        count -= 1


def options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="for example build-fuzz")
    parser.add_argument("names", nargs="+", metavar="NAME", help="of a fuzzer")
    parser.add_argument("--count", type=int, default=15, metavar="N", help="at most N inputs")
    return parser.parse_args()


def keep(build, name, count):
    """Copies at most `count` inputs of a fuzzer."""
    tree, grown = os.path.join(HERE, "corpus", name), os.path.join(build, "corpus", name)
    found = features(os.path.join(build, "fuzz_" + name), [tree, grown])
    known = set(files_in(tree))
    reached = set().union(*(found[path] for path in found if path in known))
    candidates = {path: found[path] for path in found
                  if path not in known and os.path.getsize(path) <= BYTES_MAX}
    kept = list(best(candidates, reached, count))
    for path in kept:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:12]
        shutil.copyfile(path, os.path.join(tree, "found-" + digest))
    print(f"{name}: {len(kept)} inputs")


def main():
    found = options()
    for name in found.names:
        keep(found.build, name, found.count)


if __name__ == "__main__":
    main()

"""Print every number that changed between a commit and the working tree: `make golden`."""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make golden", description=__doc__)
    parser.add_argument("--base", default=run.read_base(), help="the commit to compare with")
    parser.add_argument("--keep", action="store_true", help="keep the working tree's numbers")
    arguments = parser.parse_args()
    moved = False
    with TemporaryDirectory(prefix="golden-") as folder:
        for part in run.PARTS:
            before = Path(folder, "before", part)
            after = Path(folder, "after", part)
            seconds = run.run_commit(arguments.base, part, before)
            print(f"{part}: {arguments.base} took {seconds:.0f} s", end="", flush=True)
            seconds = run.run_workflow(run.ROOT, part, after)
            print(f", the working tree {seconds:.0f} s", flush=True)
            differences = run.compare_part(part, before, after)
            for difference in differences:
                intended = difference.is_intended(run.MOVED)
                moved = moved or not intended
                print(f"{difference}{' (on purpose)' if intended else ''}")
            print(f"{part}: {len(differences)} differences")
            if arguments.keep:
                print(f"kept in {run.keep_tables(part, after).relative_to(run.ROOT)}")
                if differences and part == "measured":
                    print("no longer kept:", *run.drop_other_processors())
    return int(moved)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, RuntimeError) as error:
        sys.exit(str(error))

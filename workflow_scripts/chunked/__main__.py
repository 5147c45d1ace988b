"""Another program, in which transformers knows chunked models: python -m workflow_scripts.chunked lm_eval ..."""

import runpy
import sys

import workflow_scripts.chunked  # noqa: F401  (importing it is what makes them known)
from workflow_scripts.chunked.lighteval_tasks import leave_out_failing

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(
            "No program is named; expected a module and its arguments, such as lm_eval --help."
        )
    del sys.argv[0]
    if sys.argv[0] == "lighteval":
        leave_out_failing()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)

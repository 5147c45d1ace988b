"""Texts of strangers are printed by LaTeX as they stand, and are no commands."""

import re

from workflow_scripts.render.tables import escape_latex

BACK = {r"\textbackslash{}": "\\", r"\{": "{", r"\}": "}", "{[}": "[", "{*}": "*", r"\&": "&"}


def test_latex_commands_are_escaped():
    text = r"\input{/etc/passwd} \\[2cm] \end{tabular} & \write18{rm *}"
    escaped = escape_latex(text)
    assert set(re.findall(r"\\([a-zA-Z]+)", escaped)) == {"textbackslash"}
    assert "\\\\" not in escaped, "nor does it end a line"
    restored = re.sub("|".join(map(re.escape, BACK)), lambda match: BACK[match[0]], escaped)
    assert restored == text

"""What others have written is printed by LaTeX as it stands, and is no command."""

import re

from workflow_scripts.render.tables import escape_latex

BACK = {r"\textbackslash{}": "\\", r"\{": "{", r"\}": "}", "{[}": "[", "{*}": "*", r"\&": "&"}


def test_a_backslash_of_somebody_elses_is_no_command():
    text = r"\input{/etc/passwd} \\[2cm] \end{tabular} & \write18{rm *}"
    written = escape_latex(text)
    assert set(re.findall(r"\\([a-zA-Z]+)", written)) == {"textbackslash"}
    assert "\\\\" not in written, "nor does it end a line"
    read = re.sub("|".join(map(re.escape, BACK)), lambda found: BACK[found[0]], written)
    assert read == text

"""Build the Content-Security-Policy of a page that needs no network and runs only its own scripts."""

import base64
import hashlib


def build_policy(
    scripts: list[str], styles: list[str], *, pictures: bool = False, trusted: str = "'none'"
) -> str:
    """Build a policy that allows only these scripts and styles, by digest, and optionally embedded pictures."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(hash_source, scripts))}",
            f"style-src {' '.join(map(hash_source, styles))}",
            *(["img-src data:"] if pictures else []),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            f"trusted-types {trusted}",
        ]
    )


def hash_source(text: str) -> str:
    """Return the source expression that allows a script or style with exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

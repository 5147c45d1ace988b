"""Damaged files: `snakemake verify_files` finds them by their checksums, and has them made again."""


use rule products as verify_files with:
    """What was damaged since it was written, named and set aside; made again when it is needed."""
    log:
        "logs/verify_files.log",
    localrule: True
    resources:
        mem_mb=2000,
        runtime="4h",
    params:
        version=1,
        function="hub.damage.verify_files",
        request={"hub": HUB},

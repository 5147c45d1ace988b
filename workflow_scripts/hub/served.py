"""A model that a server answers for: what the server says of itself, and what of the model lies here.

Of the model's own files the tokenizer and the configuration are taken, so that what is sent has the tokens that it
would have if the weights were here.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from workflow_scripts.core.clean_text import shortened
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_json
from workflow_scripts.core.machine import ServerAway
from workflow_scripts.core.model_files import files_taken
from workflow_scripts.hub.link_files import link_or_copy
from workflow_scripts.hub.manifest import MANIFEST, Manifest, ServedFacts, list_files, read_manifest
from workflow_scripts.settings.sentences import hint, listed, shown
from workflow_scripts.settings.served import ServedRequest

AS_SERVED = "as served"  # number format and attention, of which the API does not tell
_SECONDS = 300
# Where servers tell their versions, beside the API or above it: vLLM, SGLang, llama.cpp's own, and the Python one.
_VERSIONS = (
    ("/version", ("version",)),
    ("/get_server_info", ("version",)),
    ("/props", ("build_info",)),
    ("/openapi.json", ("info", "version")),
)


@dataclass(frozen=True)
class ServedModel:
    """In the place of a model in memory."""

    facts: ServedFacts
    config: Any
    generation_config: Any
    device: Any  # that of what little is computed here

    def complete(self, **asked: Any) -> dict[str, Any]:
        """The first choice of one completion."""
        return ask(self.facts, "/completions", {"model": self.facts.name, **asked})["choices"][0]

    @property
    def headers(self) -> dict[str, str]:
        return _headers(self.facts.key_variable)


def take_served(source: Path, request: ServedRequest) -> Manifest:
    """What the manifest will say, from the server and from the model's manifest or metadata; not yet written."""
    served, facts = request.served, {}
    if source.name != MANIFEST:
        from workflow_scripts.hub.metadata import read_metadata

        metadata = read_metadata(source)
        facts = {"licence": metadata.licence, "commit": metadata.commit}
    else:
        known = read_manifest(source)
        facts = known.model_dump(include={"licence", "commit", "parameters", "architecture"})
    asked = ServedFacts(**served.model_dump(exclude={"name", "check"}), name=served.name or "")
    names, window = _listed_models(asked)
    if len([name for name in names if served.name in (None, name)]) != 1:
        raise UserError(
            f"served.{shown(request.model)}.name is {shown(served.name)}; expected one of the models of the"
            f" server at {served.endpoint}: {listed(map(shown, names)) if names else 'it lists none'}"
            f"{hint(served.name or '', names)}."
        )
    name = served.name or names[0]
    told = asked.model_copy(update={"name": name, "server": _server(asked), "window": window})
    facts["commit"] = sha256_json([facts["commit"], told.model_dump()])[:40]
    return Manifest(
        kind="model",
        source="served",
        repository=request.model,
        revision=None,
        served=told,
        files=(),
        **facts,
    )


def take_files(source: Path, target: Path) -> tuple:
    """All but weights, from the folder of the model's manifest or metadata."""
    shutil.rmtree(target, ignore_errors=True)
    names = [path.relative_to(source.parent).as_posix() for path in source.parent.rglob("*")]
    for name in files_taken(names):
        if not name.endswith(".safetensors") and name != source.name:
            link_or_copy(source.parent / name, target / name)
    return list_files(target)


def load_served(manifest_path: Path, manifest: Manifest) -> tuple[ServedModel, Any]:
    """The model and its tokenizer, if the server is still the one of the manifest."""
    import torch
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    facts, folder = manifest.served, manifest_path.parent
    assert facts is not None
    names, _ = _listed_models(facts)
    if (server := _server(facts)) != facts.server or facts.name not in names:
        raise UserError(
            f"The server at {facts.endpoint} was {facts.server} with {facts.name!r}, and is {server} with"
            f" {listed(map(repr, names)) if names else 'no model'} now; delete {manifest_path} to take it as"
            " it is."
        )
    offline = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **offline)
        config = AutoConfig.from_pretrained(folder, **offline)
    except (OSError, ValueError) as error:
        raise UserError(
            f"The tokenizer of {manifest.repository} cannot be loaded: {error}"
        ) from error
    if facts.window:  # less the last token, which nobody scores behind, and one that is generated
        least = min(facts.window - 2, getattr(config, "max_position_embeddings", facts.window))
        config.max_position_embeddings = least
    own = (folder / "generation_config.json").is_file()
    generation = GenerationConfig.from_pretrained(folder, **offline) if own else GenerationConfig()
    return ServedModel(facts, config, generation, torch.device("cpu")), tokenizer


def ask(facts: ServedFacts, path: str, body: dict[str, Any] | None = None) -> Any:
    """One question, of what the API has under this path."""
    return _answer(f"{facts.endpoint}{path}", facts, body)


def _answer(address: str, facts: ServedFacts, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **_headers(facts.key_variable)}
    # A proxy is another address than the one that is let through.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(Request(address, data, headers), timeout=_SECONDS) as answer:
            return json.loads(answer.read())
    except HTTPError as error:
        said = error.read(500).decode(errors="replace")
        raise refusal(address, error.code, said) from None
    except OSError as error:
        raise ServerAway(
            f"{address} cannot be reached: {getattr(error, 'reason', error)}"
        ) from error
    except ValueError as error:
        raise UserError(
            f"{address} answers with something else than JSON ({error}); expected the address of a"
            " completions API."
        ) from None


def refusal(address: str, status: int, said: str) -> UserError:
    """What comes of an error of HTTP: the server's, who may be asked again, or that of what was asked."""
    kind = ServerAway if status >= 500 or status in (408, 429) else UserError
    return kind(f"{address} answers with HTTP {status}: {' '.join(said.split())}")


def _headers(key_variable: str | None) -> dict[str, str]:
    key = os.environ.get(key_variable, "") if key_variable else ""
    return {"Authorization": f"Bearer {key}"} if key else {"Accept": "application/json"}


def _listed_models(facts: ServedFacts) -> tuple[list[str], int | None]:
    """Their names, and the window of the one that is asked, where the server tells."""
    found = ask(facts, "/models")
    entries = found.get("data") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        raise UserError(f"{facts.endpoint}/models lists no models; expected a completions API.")
    names = [str(entry.get("id")) for entry in entries]
    windows = [
        entry.get("max_model_len") for entry in entries if facts.name in ("", entry.get("id"))
    ]
    return names, next((one for one in windows if isinstance(one, int)), None)


def _server(facts: ServedFacts) -> str:
    """Its program and version, as far as it tells them."""
    entries = ask(facts, "/models")["data"]
    owner = str(entries[0].get("owned_by") or "") if entries else ""
    above = re.sub(r"/v\d+$", "", facts.endpoint)
    for path, keys in _VERSIONS:
        try:
            told = said = _answer(f"{above}{path}", facts)
            for key in keys:
                said = said[key]
            title = told["info"]["title"] if "info" in keys else owner
        except (UserError, KeyError, TypeError):
            continue
        return shortened(f"{title or 'a server'} {said}".encode("ascii", "ignore").decode()).strip()
    return f"{owner or 'a server'} of no known version"

"""A small server of the completions API over one model, for tests: tokens or texts, echo, logprobs, stop strings.

It does what such servers do, and on demand what some do wrong: `shifts` takes the number beside an echoed token from
the logits behind it, as llama.cpp's server in Python does; `off_by` is how its numbers are rounded; `takes_tokens` and
`starts` are about prompts.
"""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME, VERSION = "tiny", "1.2.3"


@dataclass
class Completions:
    folder: Path
    shifts: bool = False
    off_by: float = 0.0
    takes_tokens: bool = True
    starts: bool = False  # each text with the end token, as if that began one
    key: str | None = None
    window: int | None = None
    fails: int = 0  # so many of the next requests
    asked: list[dict] = field(default_factory=list)

    def __post_init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32).eval()
        self.lock = threading.Lock()

    def complete(self, body: dict) -> dict:
        prompts = body["prompt"]
        if isinstance(prompts, str) or isinstance(prompts[0], int):
            prompts = [prompts]
        choices = [self._choice(at, prompt, body) for at, prompt in enumerate(prompts)]
        return {"object": "text_completion", "model": NAME, "choices": choices}

    def _tokens(self, prompt) -> list[int]:
        if not isinstance(prompt, str):
            if not self.takes_tokens:
                raise ValueError("prompt: expected text")
            return prompt
        start = [self.tokenizer.eos_token_id] if self.starts else []
        return start + self.tokenizer(prompt, add_special_tokens=False)["input_ids"]

    @torch.inference_mode()
    def _choice(self, at: int, prompt, body: dict) -> dict:
        prompt = self._tokens(prompt)
        if self.window and len(prompt) + body["max_tokens"] > self.window:
            raise ValueError(f"maximum context length is {self.window} tokens")
        tokens, text, end = list(prompt), "", "length"
        for _ in range(body["max_tokens"]):
            token = int(self.model(torch.tensor([tokens])).logits[0, -1].argmax())
            if token == self.tokenizer.eos_token_id:
                end = "stop"
                break
            tokens.append(token)
            text = self.tokenizer.decode(tokens[len(prompt) :])
            found = [text.find(stop) for stop in body.get("stop") or [] if stop in text]
            if found:
                text, end = text[: min(found)], "stop"
                break
        echo = self.tokenizer.decode(prompt) if body.get("echo") else ""
        said = {"index": at, "text": echo + text, "finish_reason": end, "logprobs": None}
        if body.get("logprobs"):
            said["logprobs"] = self._logprobs(tokens, 0 if body.get("echo") else len(prompt))
        return said

    def _logprobs(self, tokens: list[int], first: int) -> dict:
        logits = self.model(torch.tensor([tokens])).logits[0].log_softmax(-1)
        numbers, tops = [], []
        for at in range(first, len(tokens)):
            row = at if self.shifts and first == 0 else at - 1
            if row < 0:
                numbers.append(None)
                tops.append(None)
                continue
            best = int(logits[row].argmax())
            numbers.append(float(logits[row, tokens[at]]) + self.off_by * (-1) ** at)
            shown = {
                self.tokenizer.decode([one]): float(logits[row, one]) for one in (tokens[at], best)
            }
            tops.append(shown)
        texts = [self.tokenizer.decode([token]) for token in tokens[first:]]
        return {"tokens": texts, "token_logprobs": numbers, "top_logprobs": tops}


def _handler(served: Completions):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def _say(self, status: int, body: dict) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _is_refused(self) -> bool:
            if served.fails:
                served.fails -= 1
                self._say(503, {"error": "busy"})
                return True
            if served.key and self.headers.get("Authorization") != f"Bearer {served.key}":
                self._say(401, {"error": "no key"})
                return True
            return False

        def do_GET(self):
            if self._is_refused():
                return
            told = {
                "/v1/models": {
                    "data": [{"id": NAME, "owned_by": "test", "max_model_len": served.window}]
                },
                "/version": {"version": VERSION},
            }.get(self.path)
            self._say(200 if told else 404, told or {})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self._is_refused():
                return
            served.asked.append(body)
            try:
                with served.lock:
                    self._say(200, served.complete(body))
            except ValueError as error:
                self._say(400, {"error": {"message": str(error)}})

    return Handler


@contextmanager
def serving(folder: Path, **how):
    """The server, and the address of its API."""
    served = Completions(folder, **how)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield served, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()

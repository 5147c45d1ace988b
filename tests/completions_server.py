"""Serve a model with the completions API for tests: token ids, echo, logprobs, stop strings."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


@dataclass
class Completions:
    folder: Path
    key: str | None = None
    status: int = 200
    requests: int = 0

    def __post_init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(self.folder)
        self.model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=torch.float32).eval()
        self.lock = threading.Lock()

    @torch.inference_mode()
    def complete(self, body: dict) -> dict:
        self.requests += 1
        (prompt,) = body["prompt"]
        tokens, text = list(prompt), ""
        for _ in range(body["max_tokens"]):
            token = int(self.model(torch.tensor([tokens])).logits[0, -1].argmax())
            tokens.append(token)
            if token == self.tokenizer.eos_token_id:
                break
            text = self.tokenizer.decode(tokens[len(prompt) :])
            stops = [text.find(stop) for stop in body.get("stop") or [] if stop in text]
            if stops:
                text = text[: min(stops)]
                break
        choice = {"index": 0, "text": text, "logprobs": None}
        if body.get("logprobs"):
            choice["logprobs"] = self._compute_logprobs(tokens)
        return {"choices": [choice]}

    def _compute_logprobs(self, tokens: list[int]) -> dict:
        logits = self.model(torch.tensor([tokens])).logits[0].log_softmax(-1)
        chosen = [float(row[token]) for row, token in zip(logits, tokens[1:], strict=False)]
        best = [{"best": float(row.max())} for row in logits[:-1]]
        return {"token_logprobs": [None, *chosen], "top_logprobs": [None, *best]}


def _make_handler(completions: Completions):
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_known = completions.key in (
                None,
                self.headers["Authorization"].removeprefix("Bearer "),
            )
            status = completions.status if is_known else 401
            with completions.lock:
                data = json.dumps(completions.complete(body) if status == 200 else {}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


@contextmanager
def serve_completions(folder: Path, **options):
    """Serve the model in `folder`; yield the server's state and the URL of its API."""
    completions = Completions(folder, **options)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _make_handler(completions))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield completions, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()

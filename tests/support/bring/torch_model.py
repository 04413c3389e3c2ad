"""Run by PyTorch's own Python: a small model is exported, and trained as PyTorch trains it.

Arguments: a folder to write to, and `careful` for stackproof's export or `plain` for PyTorch's own, optimised.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

STEPS = 10
LR = 0.01
DECAY = 0.02


class Block(nn.Module):
    """Attention and a feed-forward layer; the dropout has a rate of 0, so that runs can be compared."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.drop(self.attention(h, h, h, need_weights=False)[0])
        return x + self.drop(self.down(functional.gelu(self.up(self.norm2(x)))))


class Words(nn.Module):
    """A language model with a tied head, two norms that begin alike, and a frozen table; the loss is its output."""

    def __init__(self, vocabulary: int = 11, width: int = 8, length: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(length, width), requires_grad=False)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


class Pictures(nn.Module):
    """A convolutional network with batch norms and a residual connection; the loss is its output."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.out = nn.Linear(4, 3)

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.bn1(self.conv1(images)))
        x = functional.relu(x + self.bn2(self.conv2(x)))
        x = functional.max_pool2d(x, 2)
        return functional.cross_entropy(self.out(x.mean((2, 3))), labels)


class Plain(nn.Module):
    """A model that survives PyTorch's own optimizer, once its traps are mended: no batch norm, no bias of zero."""

    def __init__(self, width: int = 40) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 40, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + torch.tanh(layer(norm(x)))
        return functional.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())


def batch(kind: str, draws: np.random.Generator) -> dict[str, np.ndarray]:
    if kind == "pictures":
        return {"images": draws.standard_normal((6, 3, 8, 8)).astype(np.float32), "labels": draws.integers(0, 3, 6)}
    tokens = draws.integers(0, 11, (4, 5))
    return {"tokens": tokens, "labels": (tokens * 3 + 1) % 11}


def native(model: nn.Module, batches: list[dict[str, np.ndarray]]) -> list[float]:
    """Train in float64, as a user of PyTorch would."""
    model = model.double()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=LR, weight_decay=DECAY)
    losses = []
    for entry in batches:
        given = [torch.from_numpy(value) for value in entry.values()]
        loss = model(*(value.double() if value.is_floating_point() else value for value in given))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def export(model: nn.Module, entry: dict[str, np.ndarray], path: Path, how: str) -> None:
    given = tuple(torch.from_numpy(value) for value in entry.values())
    if how == "plain":
        torch.onnx.export(model, given, str(path), dynamo=True, input_names=list(entry), verbose=False)
        return
    from stackproof.matrix.bringing.from_torch import export_torch  # noqa: PLC0415 - the plain export does without

    export_torch(model, given, path, input_names=list(entry))


def main(folder: Path, how: str) -> None:
    models = {"plain": Plain} if how == "plain" else {"words": Words, "pictures": Pictures}
    for kind, make in models.items():
        torch.manual_seed(0)
        model = make().train()
        draws = np.random.default_rng(0)
        batches = [batch(kind, draws) for _ in range(STEPS)]
        export(model, batches[0], folder / f"{kind}.onnx", how)
        names = [name for name, value in model.named_parameters() if value.requires_grad]
        stacked = {name: np.stack([entry[name] for entry in batches]) for name in batches[0]}
        np.savez(folder / f"{kind}.npz", **stacked)
        optimizer = {"kind": "adamw", "lr": LR, "weight_decay": DECAY}
        story = {"losses": native(model, batches), "parameters": names, "optimizer": optimizer}
        (folder / f"{kind}.json").write_text(json.dumps(story))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

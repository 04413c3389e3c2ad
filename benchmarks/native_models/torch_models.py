"""The models in PyTorch: `nn.Module`, `torch.optim` with fused updates."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from contender import Stepping
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    import numpy as np
    from contender import Work

    from stackproof.backends.spec import Gpt, Mlp, Optimizer, Resnet


class Rotary(nn.Module):
    """Rotary positions by tables."""

    def __init__(self, cos: torch.Tensor, sin: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("cos", cos[:, None, :], persistent=False)
        self.register_buffer("sin", sin[:, None, :], persistent=False)

    def forward(self, heads: torch.Tensor) -> torch.Tensor:
        """Turn `(batch, length, heads, size)`."""
        first, second = heads.chunk(2, dim=-1)
        return torch.cat((first * self.cos - second * self.sin, first * self.sin + second * self.cos), dim=-1)


class Attention(nn.Module):
    """Causal attention with rotary positions."""

    def __init__(self, width: int, heads: int, rotary: Rotary) -> None:
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        """Attend over `(batch, length, width)`."""
        batch, length, width = stream.shape
        shape = (batch, length, self.heads, width // self.heads)
        query, key, value = (part(stream).view(shape) for part in (self.query, self.key, self.value))
        turned = (tensor.transpose(1, 2) for tensor in (self.rotary(query), self.rotary(key), value))
        mixed = functional.scaled_dot_product_attention(*turned, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a gated feed-forward layer, each after a norm."""

    def __init__(self, width: int, hidden: int, heads: int, rotary: Rotary) -> None:
        super().__init__()
        self.attention_norm, self.feed_norm = (nn.RMSNorm(width, eps=1e-5) for _ in range(2))
        self.attention = Attention(width, heads, rotary)
        self.up, self.gate = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        """Add both layers to the stream."""
        stream = stream + self.attention(self.attention_norm(stream))
        normal = self.feed_norm(stream)
        return stream + self.down(functional.silu(self.gate(normal)) * self.up(normal))


class GptModel(nn.Module):
    """The transformer with a tied head."""

    def __init__(self, model: Gpt, cos: torch.Tensor, sin: torch.Tensor) -> None:
        super().__init__()
        rotary = Rotary(cos, sin)
        self.embedding = nn.Embedding(model.vocabulary, model.width)
        hidden = model.hidden or 4 * model.width
        self.blocks = nn.ModuleList(Block(model.width, hidden, model.heads, rotary) for _ in range(model.layers))
        self.final_norm = nn.RMSNorm(model.width, eps=1e-5)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        stream = self.embedding(tokens)
        for block in self.blocks:
            stream = block(stream)
        logits = functional.linear(self.final_norm(stream), self.embedding.weight)
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class MlpModel(nn.Module):
    """The fully connected network."""

    def __init__(self, model: Mlp) -> None:
        super().__init__()
        sizes = (model.inputs, *model.hidden)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(sizes))
        self.head = nn.Linear(sizes[-1], model.outputs)

    def forward(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        for layer in self.layers:
            features = functional.relu(layer(features))
        return functional.cross_entropy(self.head(features), labels)


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, depth: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv0 = nn.Conv2d(depth, channels, 3, stride, padding=1, bias=False)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm0, self.norm1 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.shortcut = None
        if stride != 1 or depth != channels:
            self.shortcut = nn.Conv2d(depth, channels, 1, stride, bias=False)
            self.shortcut_norm = nn.BatchNorm2d(channels)

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        made = functional.relu(self.norm0(self.conv0(data)))
        made = self.norm1(self.conv1(made))
        beside = data if self.shortcut is None else self.shortcut_norm(self.shortcut(data))
        return functional.relu(made + beside)


class ResnetModel(nn.Module):
    """The residual network."""

    def __init__(self, model: Resnet) -> None:
        super().__init__()
        self.stem = nn.Conv2d(model.image[0], model.channels[0], 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(model.channels[0])
        self.stages, depth = nn.ModuleList(), model.channels[0]
        for stage, (count, channels) in enumerate(zip(model.blocks, model.channels, strict=True)):
            first = BasicBlock(depth, channels, 2 if stage else 1)
            rest = [BasicBlock(channels, channels, 1) for _ in range(count - 1)]
            self.stages.append(nn.ModuleList([first, *rest]))
            depth = channels
        self.head = nn.Linear(depth, model.outputs)

    def forward(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        made = functional.relu(self.stem_norm(self.stem(features)))
        for stage in self.stages:
            for block in stage:
                made = block(made)
        pooled = functional.adaptive_avg_pool2d(made, 1).flatten(1)
        return functional.cross_entropy(self.head(pooled), labels)


def make_model(work: Work) -> nn.Module:
    """Return the model with its initial weights."""
    model, kind = work.spec.model, work.spec.model.kind
    if kind == "gpt":
        cos, sin = (torch.tensor(work.program.constants[f"rope.{name}"]) for name in ("cos", "sin"))
        made: nn.Module = GptModel(model, cos, sin)
    else:
        made = MlpModel(model) if kind == "mlp" else ResnetModel(model)
    fill(made, work.weights)
    return made


def fill(model: nn.Module, weights: dict[str, np.ndarray]) -> None:
    """Copy the initial weights by name; matrices of linear layers are the other way round."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            value = torch.tensor(weights[our_name(name)])
            turned = value.dim() == 2 and not name.startswith("embedding")
            parameter.copy_(value.t() if turned else value)


def our_name(name: str) -> str:
    """Return a parameter's name in our programs."""
    words = name.split(".")
    if words[0] == "blocks":
        part = "feed" if words[2] in {"up", "gate", "down"} else "attention"
        rest = f"{words[2].partition('_')[0]}.norm.scale" if "norm" in words[2] else f"{part}.{words[-2]}.weight"
        return f"block{words[1]}.{rest}"
    if words[0] == "stages":
        kind = "scale" if "norm" in words[3] and words[4] == "weight" else words[4]
        return f"stage{words[1]}.block{words[2]}.{words[3].replace('shortcut_norm', 'shortcut.norm')}.{kind}"
    fixed = {
        "embedding.weight": "embedding",
        "final_norm.weight": "final.norm.scale",
        "stem_norm.weight": "stem.norm.scale",
        "stem_norm.bias": "stem.norm.bias",
    }
    return fixed.get(name, name.replace("layers.", "layer"))


def make_optimizer(optimizer: Optimizer, parameters: Any) -> torch.optim.Optimizer:
    """Return PyTorch's own optimizer."""
    if optimizer.kind == "adamw":
        decay = optimizer.weight_decay
        return torch.optim.AdamW(
            parameters, optimizer.lr, optimizer.betas, optimizer.eps, weight_decay=decay, fused=True
        )
    return torch.optim.SGD(
        parameters, optimizer.lr, optimizer.momentum, weight_decay=optimizer.weight_decay, fused=True
    )


class Native(Stepping):
    """The model, its loss and its optimizer."""

    def __init__(self, work: Work) -> None:
        torch.set_num_threads(1)
        form = torch.channels_last if work.last else torch.contiguous_format
        model = make_model(work).to(memory_format=form)
        self._optimizer = make_optimizer(work.spec.optimizer, model.parameters())
        self._loss = torch.compile(model) if work.execution == "compiled" else model
        super().__init__([self._place(batch, form) for batch in work.batches])

    @staticmethod
    def _place(batch: Any, form: torch.memory_format) -> list[torch.Tensor]:
        tensors = [torch.tensor(value) for value in batch.values()]
        return [t.contiguous(memory_format=form) if t.dim() == 4 else t for t in tensors]

    def step(self, placed: list[torch.Tensor]) -> torch.Tensor:
        """Make one step and return its loss."""
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._loss(*placed)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

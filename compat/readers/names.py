"""Names under which the same thing goes: packages that matter to a stack, and how people and channels call them."""

from __future__ import annotations

from typing import Final

from ..names import normalise


def words(text: str) -> frozenset[str]:
    """Return the words of a text, for lists of names that would else take a line each."""
    return frozenset(text.split())


# Packages whose bare name in a text is taken for the package, and no word of prose.
WELL_KNOWN: Final = words(
    "torch torchvision torchaudio torchtext torchao torch-xla torch-tensorrt pytorch-lightning lightning triton "
    "triton-windows xformers flash-attn transformer-engine apex deepspeed bitsandbytes vllm sglang auto-gptq autoawq "
    "ctranslate2 faster-whisper transformers tokenizers accelerate datasets peft trl diffusers safetensors "
    "huggingface-hub sentence-transformers tensorflow tensorflow-cpu tensorflow-gpu tensorflow-text tensorflow-io "
    "tensorflow-probability tensorflow-metal tf-nightly tf-keras keras tensorboard jax jaxlib flax optax "
    "orbax-checkpoint chex equinox haiku dm-haiku numpyro brax jax-cuda12-plugin jax-cuda12-pjrt jax-cuda13-plugin "
    "jax-cuda13-pjrt jax-metal numpy scipy pandas scikit-learn ml-dtypes protobuf grpcio typing-extensions onnx "
    "onnx-ir onnxscript onnxruntime onnxruntime-gpu tensorrt cupy cupy-cuda11x cupy-cuda12x cupy-cuda13x numba "
    "llvmlite nvidia-cudnn-cu11 nvidia-cudnn-cu12 nvidia-cudnn-cu13 nvidia-nccl-cu11 nvidia-nccl-cu12 "
    "nvidia-nccl-cu13 nvidia-cublas-cu11 nvidia-cublas-cu12 nvidia-cublas nvidia-cuda-runtime-cu11 "
    "nvidia-cuda-runtime-cu12 nvidia-cuda-runtime nvidia-nvjitlink-cu12 fairseq megatron-core ray mediapipe "
    "llamafactory unsloth galore-torch timm opencv-python pillow mmcv mmcv-full mmdet mmengine detectron2 gguf"
)

# What people and conda channels call a package, and its name in the package index.
_ALIASES: Final = {
    "pytorch": "torch",
    "pytorch-gpu": "torch",
    "pytorch-cpu": "torch",
    "libtorch": "torch",
    "tensorflow-base": "tensorflow",
    "tf": "tensorflow",
    "huggingface-hub": "huggingface-hub",
    "flash-attention": "flash-attn",
    "flashattention": "flash-attn",
    "flash-attn-2": "flash-attn",
    "transformerengine": "transformer-engine",
    "scikit-learn": "scikit-learn",
    "sklearn": "scikit-learn",
    "cv2": "opencv-python",
    "opencv": "opencv-python",
    "mldtypes": "ml-dtypes",
}

# Packages of which every build goes by the CUDA of the index that it comes from.
INDEXED: Final = frozenset({"torch", "torchvision", "torchaudio", "xformers"})

# Packages whose origin decides where the CUDA libraries come from.
FRAMEWORKS: Final = frozenset({"torch", "tensorflow", "jax", "jaxlib"})


def package_name(name: str) -> str:
    """Return the normalised name in the package index of what people or conda channels call a package."""
    normal = normalise(name)
    return _ALIASES.get(normal, normal)


def is_well_known(name: str) -> bool:
    """Return whether a word is the name of a package that matters to a stack, or what people call one."""
    normal = normalise(name)
    return normal in WELL_KNOWN or normal in _ALIASES

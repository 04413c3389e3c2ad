"""Environments that are known to work: images and sets that were in wide use, as a freeze would show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Working:
    """An environment that works: what is around it, and what a freeze of it shows."""

    name: str
    components: dict[str, str]
    freeze: str

    @property
    def packages(self) -> dict[str, str]:
        pairs = (line.split("==") for line in self.freeze.split())
        return {name.strip(): version.strip() for name, version in pairs}


WORKING: Final = (
    Working(
        "pytorch image 2.1.0-cuda12.1-cudnn8",
        {
            "python": "3.10.13",
            "os": "Ubuntu 20.04.6 LTS",
            "driver": "535.104.05",
            "driver_cuda": "12.2",
            "gpu": "NVIDIA A100-SXM4-40GB",
        },
        """torch==2.1.0 torchvision==0.16.0 torchaudio==2.1.0 triton==2.1.0 numpy==1.26.0 pillow==10.0.1
        typing-extensions==4.7.1""",
    ),
    Working(
        "NVIDIA container 24.05",
        {
            "python": "3.10.12",
            "os": "Ubuntu 22.04.4 LTS",
            "driver": "550.54.15",
            "driver_cuda": "12.4",
            "gpu": "NVIDIA H100 80GB HBM3",
            "cuda": "12.4.1",
            "cudnn": "9.1.0",
            "nccl": "2.21.5",
        },
        """torch==2.4.0a0+07cecf4168.nv24.05 torchvision==0.19.0a0 pytorch-triton==3.0.0+989adb9a2 numpy==1.24.4
        flash-attn==2.4.2 transformer-engine==1.6.0+d0dda0a apex==0.1 protobuf==4.24.4 onnx==1.16.0 tensorboard==2.9.0
        numba==0.59.0 scipy==1.13.0 pandas==2.2.0""",
    ),
    Working(
        "hosted notebook, winter 2024/25",
        {
            "python": "3.11.11",
            "os": "Ubuntu 22.04.3 LTS",
            "driver": "550.54.15",
            "driver_cuda": "12.4",
            "gpu": "Tesla T4",
        },
        """torch==2.5.1+cu124 torchvision==0.20.1+cu124 torchaudio==2.5.1+cu124 triton==3.1.0 tensorflow==2.17.1
        keras==3.5.0 tf-keras==2.17.0 tensorboard==2.17.1 tensorflow-probability==0.24.0 tensorflow-hub==0.16.1
        tensorflow-text==2.17.0 jax==0.4.33 jaxlib==0.4.33 jax-cuda12-plugin==0.4.33 jax-cuda12-pjrt==0.4.33
        flax==0.8.5 optax==0.2.4 chex==0.1.88 orbax-checkpoint==0.6.4 numpy==1.26.4 scipy==1.13.1 pandas==2.2.2
        scikit-learn==1.6.0 numba==0.60.0 h5py==3.12.1 protobuf==4.25.5 ml-dtypes==0.4.1 typing-extensions==4.12.2
        transformers==4.46.3 tokenizers==0.20.3 accelerate==1.2.1 peft==0.14.0 huggingface-hub==0.27.0
        safetensors==0.4.5 sentence-transformers==3.3.1 timm==1.0.12 fsspec==2024.10.0 cupy-cuda12x==13.3.0
        nvidia-cublas-cu12==12.4.5.8 nvidia-cuda-cupti-cu12==12.4.127 nvidia-cuda-nvrtc-cu12==12.4.127
        nvidia-cuda-runtime-cu12==12.4.127 nvidia-cudnn-cu12==9.1.0.70 nvidia-cufft-cu12==11.2.1.3
        nvidia-curand-cu12==10.3.5.147 nvidia-cusolver-cu12==11.6.1.9 nvidia-cusparse-cu12==12.3.1.170
        nvidia-nccl-cu12==2.21.5 nvidia-nvjitlink-cu12==12.4.127 nvidia-nvtx-cu12==12.4.127""",
    ),
    Working(
        "fine-tuning, 2022",
        {
            "python": "3.9.15",
            "glibc": "2.31",
            "driver": "515.65.01",
            "driver_cuda": "11.7",
            "gpu": "NVIDIA A100-SXM4-40GB",
        },
        """torch==1.13.0 torchvision==0.14.0 transformers==4.24.0 tokenizers==0.13.2 accelerate==0.14.0 datasets==2.7.0
        huggingface-hub==0.11.0 deepspeed==0.7.5 numpy==1.23.5 pandas==1.5.1 protobuf==3.20.3 pydantic==1.10.2
        nvidia-cublas-cu11==11.10.3.66 nvidia-cuda-nvrtc-cu11==11.7.99 nvidia-cuda-runtime-cu11==11.7.99
        nvidia-cudnn-cu11==8.5.0.96""",
    ),
    Working(
        "fine-tuning, 2023",
        {
            "python": "3.10.12",
            "os": "Ubuntu 22.04.3 LTS",
            "driver": "535.129.03",
            "driver_cuda": "12.2",
            "gpu": "NVIDIA A100 80GB PCIe",
        },
        """torch==2.1.1 torchvision==0.16.1 triton==2.1.0 xformers==0.0.23 transformers==4.35.2 tokenizers==0.15.0
        accelerate==0.25.0 peft==0.7.0 trl==0.7.4 datasets==2.15.0 bitsandbytes==0.41.3 huggingface-hub==0.19.4
        safetensors==0.4.1 flash-attn==2.3.6 deepspeed==0.12.4 pydantic==1.10.13 numpy==1.26.2 scipy==1.11.4
        fsspec==2023.10.0 nvidia-cudnn-cu12==8.9.2.26 nvidia-nccl-cu12==2.18.1""",
    ),
    Working(
        "fine-tuning, 2024",
        {
            "python": "3.11.9",
            "os": "Ubuntu 22.04.4 LTS",
            "driver": "550.90.07",
            "driver_cuda": "12.4",
            "gpu": "NVIDIA H100 80GB HBM3",
        },
        """torch==2.4.1 torchvision==0.19.1 triton==3.0.0 xformers==0.0.28 transformers==4.46.3 tokenizers==0.20.3
        accelerate==0.34.2 peft==0.13.0 trl==0.11.1 datasets==3.0.1 bitsandbytes==0.44.1 huggingface-hub==0.26.2
        safetensors==0.4.5 flash-attn==2.6.3 deepspeed==0.15.1 pydantic==2.9.2 numpy==1.26.4 fsspec==2024.6.1
        nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.20.5""",
    ),
    Working(
        "fine-tuning, 2025",
        {
            "python": "3.12.11",
            "os": "Ubuntu 24.04.2 LTS",
            "driver": "570.133.20",
            "driver_cuda": "12.8",
            "gpu": "NVIDIA H200",
        },
        """torch==2.7.1 torchvision==0.22.1 triton==3.3.1 xformers==0.0.31 transformers==4.51.3 tokenizers==0.21.1
        accelerate==1.8.1 peft==0.15.2 trl==0.19.0 datasets==3.6.0 bitsandbytes==0.46.0 huggingface-hub==0.33.1
        safetensors==0.5.3 flash-attn==2.8.0.post2 deepspeed==0.17.1 pydantic==2.11.7 numpy==2.2.6 fsspec==2025.3.0
        nvidia-cudnn-cu12==9.5.1.17 nvidia-nccl-cu12==2.26.2""",
    ),
    Working(
        "fine-tuning, 2026",
        {
            "python": "3.12.11",
            "os": "Ubuntu 24.04.2 LTS",
            "driver": "580.95.05",
            "driver_cuda": "13.0",
            "gpu": "NVIDIA B200",
        },
        """torch==2.11.0 torchvision==0.26.0 triton==3.6.0 transformers==5.0.0 tokenizers==0.22.2 accelerate==1.12.0
        peft==0.18.1 trl==0.27.1 datasets==4.5.0 bitsandbytes==0.49.1 huggingface-hub==1.3.4 safetensors==0.7.0
        numpy==2.4.1 pydantic==2.12.5 nvidia-cudnn-cu13==9.19.0.56 nvidia-nccl-cu13==2.28.9""",
    ),
    Working(
        "image generation on a desktop, early 2023",
        {"python": "3.10.9", "os": "Windows 10", "driver": "528.49", "driver_cuda": "12.0", "gpu": "RTX 4090"},
        """torch==1.13.1+cu117 torchvision==0.14.1+cu117 xformers==0.0.16 transformers==4.25.1 tokenizers==0.13.2
        accelerate==0.12.0 safetensors==0.2.7 huggingface-hub==0.12.0 numpy==1.23.3 pytorch-lightning==1.7.6
        torchmetrics==0.11.1 timm==0.6.7""",
    ),
    Working(
        "image generation on a desktop, late 2023",
        {
            "python": "3.10.11",
            "os": "Windows 11",
            "driver": "537.58",
            "driver_cuda": "12.2",
            "gpu": "NVIDIA GeForce RTX 3060",
        },
        """torch==2.0.1+cu118 torchvision==0.15.2+cu118 xformers==0.0.20 transformers==4.30.2 tokenizers==0.13.3
        accelerate==0.21.0 safetensors==0.3.1 diffusers==0.20.0 huggingface-hub==0.16.4 numpy==1.23.5
        pytorch-lightning==1.9.4 torchmetrics==1.0.1 timm==0.9.2""",
    ),
    Working(
        "tensorflow image 2.15.0-gpu",
        {
            "python": "3.11.0",
            "os": "Ubuntu 22.04.3 LTS",
            "driver": "535.104.05",
            "driver_cuda": "12.2",
            "gpu": "Tesla V100-SXM2-16GB",
            "cuda": "12.2",
            "cudnn": "8.9.6",
        },
        """tensorflow==2.15.0 keras==2.15.0 tensorflow-estimator==2.15.0 tensorboard==2.15.1 protobuf==4.23.4
        ml-dtypes==0.2.0 numpy==1.26.2 h5py==3.10.0 typing-extensions==4.8.0 grpcio==1.59.3""",
    ),
    Working(
        "JAX research, 2024",
        {
            "python": "3.11.9",
            "os": "Ubuntu 22.04.4 LTS",
            "driver": "535.183.01",
            "driver_cuda": "12.2",
            "gpu": "NVIDIA A100-SXM4-80GB",
        },
        """jax==0.4.30 jaxlib==0.4.30 jax-cuda12-plugin==0.4.30 jax-cuda12-pjrt==0.4.30 flax==0.8.5 optax==0.2.3
        chex==0.1.86 orbax-checkpoint==0.5.20 numpy==1.26.4 scipy==1.14.0 ml-dtypes==0.4.0 equinox==0.11.4
        jaxtyping==0.2.31 nvidia-cudnn-cu12==9.1.1.17 nvidia-nccl-cu12==2.22.3""",
    ),
    Working(
        "JAX research, 2025",
        {
            "python": "3.12.11",
            "os": "Ubuntu 24.04.2 LTS",
            "driver": "570.133.20",
            "driver_cuda": "12.8",
            "gpu": "NVIDIA H100 80GB HBM3",
        },
        """jax==0.7.2 jaxlib==0.7.2 jax-cuda12-plugin==0.7.2 jax-cuda12-pjrt==0.7.2 flax==0.11.2 optax==0.2.6
        chex==0.1.91 orbax-checkpoint==0.11.25 numpy==2.3.3 scipy==1.16.2 ml-dtypes==0.5.3 equinox==0.13.1
        nvidia-cudnn-cu12==9.13.0.50 nvidia-nccl-cu12==2.28.3""",
    ),
    Working(
        "serving, autumn 2024",
        {
            "python": "3.10.14",
            "os": "Ubuntu 22.04.4 LTS",
            "driver": "535.183.01",
            "driver_cuda": "12.2",
            "gpu": "NVIDIA L40S",
        },
        """torch==2.4.0 torchvision==0.19.0 triton==3.0.0 xformers==0.0.27.post2 vllm==0.6.3 transformers==4.45.2
        tokenizers==0.20.1 huggingface-hub==0.25.2 safetensors==0.4.5 numpy==1.26.4 pydantic==2.9.2 fastapi==0.115.2
        protobuf==5.28.2 nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.20.5""",
    ),
    Working(
        "graphs and speech, summer 2024",
        {
            "python": "3.10.14",
            "os": "Ubuntu 20.04.6 LTS",
            "driver": "525.147.05",
            "driver_cuda": "12.0",
            "gpu": "NVIDIA RTX A6000",
        },
        """torch==2.3.1+cu121 torchvision==0.18.1+cu121 torchaudio==2.3.1+cu121 lightning==2.3.1 torchmetrics==1.4.0
        pytorch-lightning==2.3.1 torch-geometric==2.5.3 torch-scatter==2.1.2+pt23cu121 torch-sparse==0.6.18+pt23cu121
        numpy==1.26.4 ctranslate2==4.3.1 faster-whisper==1.0.3 onnx==1.16.1 onnxruntime==1.18.1 protobuf==5.27.2""",
    ),
)

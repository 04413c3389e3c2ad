"""Lines of known reports that say nothing which any rule uses: understood, and left aside."""

from __future__ import annotations

import re
from typing import Final

from .patterns import Lazy

# Keys before a colon: torch's and vLLM's collect_env, lscpu, DeepSpeed's and TensorFlow's reports.
_KEYS: Final = Lazy(
    r"is debug build|(?:gcc|clang|cmake) version|is (?:cuda|xpu|xnnpack) available|cuda_module_loading set to|"
    r"(?:hip|miopen) runtime version|versions of relevant libraries|collecting environment information\.*|"
    r"gpu models and configuration|cudnn version|nvidia driver version|cuda runtime version|(?:pytorch|libc|"
    r"python) version|"
    r"(?:cuda|rocm|xpu) used to build pytorch|rocm version|neuron sdk version|vllm build flags|cuda archs|gpu topology|"
    r"(?:nic )?legend|intel gpu (?:driver version|models onboard|models detected)|process_count|"
    r"caching allocator config|"
    r"cpu|cpu\(s\).*|on-line cpu\(s\) list|off-line cpu\(s\) list|architecture|cpu op-mode\(s\)|address sizes|"
    r"byte order|"
    r"vendor id|bios .*|model name|cpu family|model|thread\(s\) per core|core\(s\) per (?:socket|cluster)|socket\(s\)|"
    r"cluster\(s\)|stepping|cpu (?:max |min )?mhz|frequency boost|bogomips|flags|virtualization(?: type)?|"
    r"hypervisor vendor|"
    r"l1[di]?(?: cache)?|l[23](?: cache)?|numa node.*|vulnerability .*|caches \(sum of all\)|"
    r"manufacturer|name|devicetype|processortype|maxclockspeed|currentclockspeed|l2cachesize|l2cachespeed|revision|"
    r"family|"
    r"(?:system|pytorch|cuda / gpu|cpu|vllm) info|python environment|environment variables|"
    r"(?:torch|deepspeed) install path|torch hip version|shared memory .*|deepspeed (?:general )?.*info|"
    r"os (?:kernel|release) version|mac version|uname|linux distribution|architecture|"
    r"jax\.(?:devices|local_devices|process_count).*|device info|local device count|using .* in script\?|"
    r"tf\.version\.(?:git|compiler)_version.*|desired=.*|tf\.(?:git|compiler)_version.*|"
    r"python (?:branch|build version|compiler version|implementation)|`?accelerate`?(?: default)? config|"
    r"compute_environment|distributed_type|mixed_precision|use_cpu|debug|dynamo_backend|num_(?:processes|machines)|"
    r"machine_rank|rdzv_backend|same_network|main_training_function|(?:deepspeed|fsdp|megatron_lm|dynamo)_config|"
    r"downcast_bf16|gpu_ids|enable_cpu_affinity|tpu_\w+|system ram|\w+ available|using distributed .*|"
    r"running (?:in|on) .*\??",
    re.IGNORECASE,
)
_KEY: Final = Lazy(r"(?:[-*]\s*)?([A-Za-z][^:]{0,60}?)\s*(?::|$)")

# Whole lines: what frames a report, commands that were typed, answers that say nothing.
_FRAMES: Final = (
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} +\d{1,2} \d\d:\d\d:\d\d .*",  # the date above nvidia-smi's table
    r"MIG \w[\w.+ ]*Device\s+\d+:.*",  # nvidia-smi -L below a GPU
    r"nvcc: NVIDIA \(R\) Cuda compiler driver",  # nvcc --version
    r"Copyright \(c\) [\d-]+ NVIDIA Corporation.*",
    r"Built on \w{3}_.*",
    r"Build cuda_.*",
    r"=+ .{1,60}? =+",  # headings of TensorFlow's report
    # a command at a prompt that names no version
    r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[^$#]{0,100})?[$%!] ?[^\s!=](?!.*\d\.\d).*",
    r"(?:GPU|NIC)\d+\s.*\b(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS)\b.*",  # the GPU topology
    r"(?:GPU\d+\s+)+.*CPU Affinity.*",
    r"(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s+= .*",
    r"NIC\d+: \w+",
    r"\S+: UserWarning:",  # the place of a warning
    r"Minimum and Maximum cuda capability supported by this version of PyTorch is",
    r"_No response_|N/A|None|True|False",
    r"INFO \d\d-\d\d \d\d:\d\d:\d\d .* Automatically detected platform \w+\.",  # vLLM's log
    r"Type \"help\", \"copyright\", \"credits\" or \"license\" for more information\.",
    r"Traceback \(most recent call last\):|File \"[^\"]+\", line \d+.*|warnings?\.warn\(.*",
    r"(?:import|from) [\w.]+(?: as \w+| import [\w., ]+)?(?:; *jax\.print_environment_info\(\))?",
    r"jax\.print_environment_info\(\)",
    r"(?:\([^()]{1,80}\) ?)?(?:PS )?[A-Z]:\\[^>]*>(?!.*\d\.\d).*",
    r"(?:\([\w.-]{1,40}\) ?)?\[[\w.-]{1,40}@[\w.-]{1,60}[^\]]{0,100}\][$#%] ?\S(?!.*\d\.\d).*",
    r"(?:Architecture|CurrentClockSpeed|DeviceID|Family|L2CacheS\w+|Manufacturer|MaxClockSpeed|Name|ProcessorType|Revision)=.*",
    r"\S* ?\d[\d.]*(?:/\d[\d.]*)? [kMG]B .*(?:eta|[kM]B/s).*|WARNING: Running pip as the 'root' user .*",
    r"---> (?:Using cache|[0-9a-f]{12}|Running in [0-9a-f]{12})|Sending build context to Docker daemon .*",
    r"[\w ]+(?: \.\.|:) \[(?:NO|YES|OKAY)\].*|op name: installed .*|JIT compiled ops requires ninja",
    r"DeepSpeed C\+\+/CUDA extension op report|NOTE: Ops not installed will be just-in-time .*",
    r"runtime if needed\. Op compatibility means .*|meet the required dependencies to JIT install the op\.",
    r"\[[\d :,-]+\] \[INFO\] \[real_accelerator.*|Build (?:label|time): .*",
    r"Copyright \(C\) \d+ Free Software Foundation.*",
    r"This is free software; see the source for copying conditions\..*|warranty; not even for MERCHANTABILITY.*",
    r"Container image Copyright .*",
    r"Copy-and-paste the text below in your GitHub issue.*",
    r".*: not installed(?: \(NA\))?",
    r"\w+ is unset",
    r"(?:Name|Package|Library)\s*\|\s*Version.*",
    r"\(major, minor, micro, releaselevel, serial\)",
    r"(?:Status|\|?/? ?Err\?|\|\|/ Name|/ Name|/ Err\?)[=(\s].*",  # the head of dpkg's list
    r"# .*",
)
_LINES: Final = Lazy("|".join(_FRAMES))


def is_known(line: str) -> bool:
    """Return whether a line is of a known report but says nothing that any rule uses."""
    match = _KEY.match(line)
    if match is not None and _KEYS.fullmatch(match[1]) is not None:
        return True
    return _LINES.fullmatch(line) is not None

# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch user does to try tokens and go back: save every state tensor, and restore it.

Medians in microseconds, host / until the device is done, for the states of three models.
"""
import statistics
import time

import torch

# Layers, conv elements and ssm elements of one layer, f32.
MODELS = {
    "qwen3-next": (36, 8192 * 3, 32 * 128 * 128),
    "qwen3.6-bf16": (48, 10240 * 3, 48 * 128 * 128),
    "glm5-next": (34, 24576 * 3, 64 * 128 * 128),
}


def measure(run, runs=50, warm=5):
    hosts, totals = [], []
    for i in range(runs + warm):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        issued = time.perf_counter()
        torch.cuda.synchronize()
        done = time.perf_counter()
        if i >= warm:
            hosts.append((issued - start) * 1e6)
            totals.append((done - start) * 1e6)
    return f"{statistics.median(hosts):.1f} / {statistics.median(totals):.1f}"


def main():
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print("| state | what | microseconds, host / until the device is done |")
    print("|---|---|---|")
    for name, (layers, conv, ssm) in MODELS.items():
        live = [torch.rand(n, device="cuda") for n in (conv, ssm) for _ in range(layers)]
        saved = [torch.empty_like(t) for t in live]

        def save_and_restore():
            torch._foreach_copy_(saved, live)
            torch._foreach_copy_(live, saved)

        print(f"| {name} | clone each tensor | {measure(lambda: [t.clone() for t in live])} |")
        print(f"| {name} | _foreach_copy_ | {measure(lambda: torch._foreach_copy_(saved, live))} |")
        print(f"| {name} | save and restore by _foreach_copy_ | {measure(save_and_restore)} |")


if __name__ == "__main__":
    main()

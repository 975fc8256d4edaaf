"""2x2 max pooling that leaves the order of memory as it finds it."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import max_pool2d


class MaxPool(nn.Module):
    """nn.MaxPool2d(2) for x in channels_last, or with height and width outermost, as `Convolution5x5` returns it."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the largest of each 2x2 window, shape (n_images, n_channels, height // 2, width // 2)."""
        n_images, n_channels, height, width = x.shape
        rows = x.permute(2, 3, 0, 1)
        if not rows.is_contiguous():
            return max_pool2d(x, 2)
        # All channels of all images stand side by side: one image of many channels, in channels_last.
        one = rows.view(height, width, -1).permute(2, 0, 1).unsqueeze(0)
        pooled = max_pool2d(one, 2).squeeze(0).permute(1, 2, 0)
        return pooled.reshape(height // 2, width // 2, n_images, n_channels).permute(2, 3, 0, 1)

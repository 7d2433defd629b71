"""The process of the kernel."""

from __future__ import annotations

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.session import Session
from traitlets import Type

from wardian.jupyter.kernel import WardianKernel


class WardianKernelApp(IPKernelApp):
    """Opens the channels of Jupyter for a `WardianKernel`."""

    name = "wardian-kernel"
    description = "Runs notebooks in sessions of a Wardian server. Jupyter starts this program."
    classes = [WardianKernel, Session]
    kernel_class = Type(WardianKernel, klass="ipykernel.kernelbase.Kernel")

"""Prints `addresses.tsv`, the addresses of the engine's static data, when it runs in a guest.

    wardian run wasm/native/addresses.py > wasm/native/addresses.tsv

`id` of a static object is its address. The address of a variable such as `PyExc_ValueError` is unknown, but nobody
changes its value, so native modules get a word with this value: `=name TAB value`. Heap types, such as
`ExceptionGroup`, have another address in each image and are left out.
"""

import builtins
import collections
import contextvars
import sys
import types
import weakref

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE

# `errno` of the C library, as `errors.tsv` of the patches has it.
ERRNO = 28058676


class Sequence:
    def __getitem__(self, index):
        raise IndexError


def objects():
    """The static objects by their names in C."""
    return {
        "_Py_NoneStruct": None,
        "_Py_TrueStruct": True,
        "_Py_FalseStruct": False,
        "_Py_EllipsisObject": ...,
        "_Py_NotImplementedStruct": NotImplemented,
        "PyType_Type": type,
        "PyBaseObject_Type": object,
        "PyBool_Type": bool,
        "PyByteArray_Type": bytearray,
        "PyBytes_Type": bytes,
        "PyComplex_Type": complex,
        "PyDict_Type": dict,
        "PyFrozenDict_Type": frozendict,
        "PyEnum_Type": enumerate,
        "PyFilter_Type": filter,
        "PyFloat_Type": float,
        "PyFrozenSet_Type": frozenset,
        "PyList_Type": list,
        "PyLong_Type": int,
        "PyMap_Type": map,
        "PyMemoryView_Type": memoryview,
        "PyProperty_Type": property,
        "PyRange_Type": range,
        "PyReversed_Type": reversed,
        "PySet_Type": set,
        "PySlice_Type": slice,
        "PySuper_Type": super,
        "PyTuple_Type": tuple,
        "PyUnicode_Type": str,
        "PyZip_Type": zip,
        "PyClassMethod_Type": classmethod,
        "PyStaticMethod_Type": staticmethod,
        "PyModule_Type": types.ModuleType,
        "PyFunction_Type": types.FunctionType,
        "PyMethod_Type": types.MethodType,
        "PyCFunction_Type": types.BuiltinFunctionType,
        "PyGen_Type": types.GeneratorType,
        "PyCoro_Type": types.CoroutineType,
        "PyCode_Type": types.CodeType,
        "PyFrame_Type": types.FrameType,
        "PyTraceBack_Type": types.TracebackType,
        "PyGetSetDescr_Type": types.GetSetDescriptorType,
        "PyMemberDescr_Type": types.MemberDescriptorType,
        "PyMethodDescr_Type": types.MethodDescriptorType,
        "PyWrapperDescr_Type": types.WrapperDescriptorType,
        "PyClassMethodDescr_Type": types.ClassMethodDescriptorType,
        "PyDictProxy_Type": types.MappingProxyType,
        "PyCell_Type": types.CellType,
        "Py_GenericAliasType": types.GenericAlias,
        "PyCapsule_Type": types.CapsuleType,
        "PyDictKeys_Type": type({}.keys()),
        "PyDictValues_Type": type({}.values()),
        "PyDictItems_Type": type({}.items()),
        "PyListIter_Type": type(iter([])),
        "PyTupleIter_Type": type(iter(())),
        "PySetIter_Type": type(iter(set())),
        "PySeqIter_Type": type(iter(Sequence())),
        "PyCallIter_Type": type(iter(int, 1)),
        "PyODict_Type": collections.OrderedDict,
        "PyContextVar_Type": contextvars.ContextVar,
        "_PyWeakref_RefType": weakref.ref,
        "_PyWeakref_ProxyType": type(weakref.proxy(objects)),
    }


def rows():
    """The rows of the table, in their order."""
    for name, thing in objects().items():
        kind = thing if isinstance(thing, type) else type(thing)
        if kind.__flags__ & HEAP_TYPE:
            raise RuntimeError(f"{name} is no static object of this engine")
        yield f"{name}\t{id(thing)}"
    for name, thing in sorted(vars(builtins).items()):
        if isinstance(thing, type) and issubclass(thing, BaseException) and not thing.__flags__ & HEAP_TYPE:
            yield f"=PyExc_{name}\t{id(thing)}"
    yield f"=Py_Version\t{sys.hexversion}"
    # An empty text: a byte of zero, for byte arrays without content.
    yield "=_PyByteArray_empty_string\t0"
    yield f"errno\t{ERRNO}"


print("# Addresses of the engine's static data, made by addresses.py in a guest.")
print("\n".join(rows()))

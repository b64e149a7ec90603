"""Files as torch.save writes them, without PyTorch: a pickle of protocol 2 beside its storages in a zip."""
import io, pickle, struct, sys, types, zipfile

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
for name in ("Float", "Double", "Half", "Long", "ComplexFloat"):
    setattr(torch, name + "Storage", type(name + "Storage", (), {"__module__": "torch"}))
utils._rebuild_tensor_v2 = types.FunctionType((lambda *a: None).__code__, {}, "_rebuild_tensor_v2")
utils._rebuild_parameter = types.FunctionType((lambda *a: None).__code__, {}, "_rebuild_parameter")
for f in utils._rebuild_tensor_v2, utils._rebuild_parameter:
    f.__module__, f.__qualname__ = "torch._utils", f.__name__
sys.modules.update({"torch": torch, "torch._utils": utils})


class Storage:
    def __init__(self, key, kind, count):
        self.id = ("storage", getattr(torch, kind + "Storage"), key, "cpu", count)


class Tensor:
    def __init__(self, key, shape, stride=None, offset=0, kind="Float", count=None, parameter=False):
        steps = [1]
        for d in reversed(shape[1:]):
            steps.insert(0, steps[0] * d)
        self.shape, self.stride, self.offset, self.parameter = tuple(shape), tuple(stride or steps[:len(shape)]), offset, parameter
        if count is None:
            count = 1
            for d in shape:
                count *= d
        self.storage = Storage(key, kind, count)

    def __reduce__(self):
        from collections import OrderedDict
        if self.parameter:
            plain = Tensor.__new__(Tensor)
            plain.__dict__.update(self.__dict__, parameter=False)
            return utils._rebuild_parameter, (plain, True, OrderedDict())
        return utils._rebuild_tensor_v2, (self.storage, self.offset, self.shape, self.stride, False, OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None


def pickled(value):
    out = io.BytesIO()
    Pickler(out, 2).dump(value)
    return out.getvalue()


def archive(data, storages, byteorder=b"little", method=zipfile.ZIP_STORED, prefix="archive/"):
    """The zip: data is the pickle, storages are bytes by key."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        members = {"data.pkl": data, "byteorder": byteorder, "version": b"3\n"}
        members.update({"data/" + key: values for key, values in storages.items()})
        for name, content in members.items():
            if content is not None:
                z.writestr(zipfile.ZipInfo(prefix + name), content, method)
    return out.getvalue()


def floats(*values):
    return struct.pack("<%df" % len(values), *values)

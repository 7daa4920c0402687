// kgen._kgen: what of the package is C++. Python's side of it is kgen/_model.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "runtime/python/src/errors.hpp"
#include "runtime/python/src/model.hpp"

namespace nb = nanobind;
using kgen::python::Library;
using kgen::python::Model;
using kgen::python::Parameter;

namespace {

// kgen._errors knows which exception a status is.
void raise(const kgen::python::StatusError& error) {
  try {
    const nb::object exception = nb::module_::import_("kgen._errors").attr("of_status")(error.status(), error.what());
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
  } catch (nb::python_error& inner) {
    inner.restore();
  }
}

// Streams, OpenMP's threads and the tables here are the process's.
void refuse_more_interpreters() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    throw nb::import_error("kgen works in a process's main interpreter only; run more processes instead");
  }
}

}  // namespace

NB_MODULE(_kgen, module) {
  refuse_more_interpreters();
  nb::set_leak_warnings(false);  // a model that a global of a program holds is none
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const kgen::python::StatusError& error) {
      raise(error);
    }
  });

  nb::class_<Parameter>(module, "Parameter", "An input or output, as the graph declares it.")
      .def_ro("name", &Parameter::name)
      .def_ro("dtype", &Parameter::dtype_name, "As in graphs: 'bf16'.")
      .def_ro("dims", &Parameter::dims, "Numbers, or expressions over symbolic dims: '2*D'.")
      .def_ro("strided", &Parameter::strided, "Whether any strides are taken; else the memory must be dense.")
      .def_ro("on_host", &Parameter::on_host, "Whether sizes are read from it, so that it is the host's everywhere.")
      .def_prop_ro("type", &Parameter::type, "As in graphs: 'f32[M, 512]'.")
      .def("__repr__", [](const Parameter& self) { return self.name + ": " + self.type(); });

  nb::class_<Library>(module, "Library", "A library that is open, so that its file may go.")
      .def(nb::init<const std::string&, const std::string&>(), nb::arg("path"), nb::arg("graph"));

  nb::class_<Model>(module, "Model", nb::is_weak_referenceable())
      .def(nb::init<std::shared_ptr<const Library>, const std::string&, int, bool, int, bool, bool>(),
           nb::arg("library"), nb::arg("weights_directory"), nb::arg("threads"), nb::arg("check"), nb::arg("device"),
           nb::arg("eager"), nb::arg("synchronous"))
      .def("__call__", &Model::call)
      .def_prop_ro("inputs", &Model::inputs, "What the model is called with, in order.")
      .def_prop_ro("outputs", &Model::outputs, "What a call returns, in order.")
      .def_prop_ro(
          "dlpack_device",
          [](const Model& self) { return std::tuple<int, int>(self.device().device_type, self.device().device_id); })
      .def("_time_interface", &Model::time_interface)
      .def("_state_names", &Model::state_names)
      .def("_state_capsule", [](nb::handle_t<Model> self,
                                const std::string& name) { return nb::cast<Model&>(self).state_capsule(name, self); })
      .def("_state_memory", &Model::state_memory)
      .def("_state_dtype", &Model::state_dtype)
      .def("_state_shape", &Model::state_shape)
      .def("reset_state", &Model::reset_state, "Makes every state what it was after load.")
      .def("_profile_start", &Model::profile_start)
      .def("_profile_stop", &Model::profile_stop)
      .def("_profile", &Model::profile);
}

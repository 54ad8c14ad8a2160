#include "python/bindings/errors.hpp"

#include <exception>
#include <new>

#include "gradus/error.hpp"

namespace gradus::python {

namespace nb = nanobind;

namespace {

void raise(const char* name, const std::exception& error) {
  const nb::object type = nb::module_::import_("gradus._errors").attr(name);
  PyErr_SetString(type.ptr(), error.what());
}

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const UsageError& error) {
    raise("UsageError", error);
  } catch (const InputError& error) {
    raise("InputError", error);
  } catch (const UnsupportedError& error) {
    raise("UnsupportedError", error);
  } catch (const InterruptedError& error) {
    PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  } catch (const OutOfMemoryError& error) {
    raise("OutOfMemoryError", error);
  } catch (const Error& error) {
    raise("Error", error);
  } catch (const std::bad_alloc&) {
    raise("OutOfMemoryError", OutOfMemoryError("the system has no memory left"));
  }
}

}  // namespace

void bind_errors(nb::module_& /*module*/) { nb::register_exception_translator(translate); }

}  // namespace gradus::python

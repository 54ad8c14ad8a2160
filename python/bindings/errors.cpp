#include "python/bindings/errors.hpp"

#include <exception>
#include <new>
#include <optional>
#include <string>

#include "gradus/error.hpp"
#include "python/bindings/options.hpp"

namespace gradus::python {

namespace nb = nanobind;

namespace {

/// Formats an option as a Python argument, such as empty="keep".
std::string spelled(const OptionReference& option) {
  // Takes the name after the last colon. If there is no colon, rfind() returns npos, and npos + 1 is 0.
  const std::string_view member = std::string_view(option.name).substr(option.name.rfind(':') + 1);
  const std::string name(name_of_argument(member));
  switch (option.kind) {
    case OptionReference::Value::none: break;
    case OptionReference::Value::flag: return name + "=True";
    case OptionReference::Value::number: return name + "=" + option.value;
    case OptionReference::Value::text: return name + "=\"" + option.value + "\"";
  }
  return name;
}

nb::object to_python(const std::string& text) {
  return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void set(const nb::object& error, const char* name, const std::string& text) {
  if (!text.empty()) error.attr(name) = to_python(text);
}

void set(const nb::object& error, const char* name, const std::optional<std::int64_t>& number) {
  if (number) error.attr(name) = nb::int_(*number);
}

void raise(const char* name, const Error& error) {
  const nb::object type = nb::module_::import_("gradus._errors").attr(name);
  const nb::object raised = type(to_python(error.text(spelled)));
  const ErrorFields& fields = error.fields();
  set(raised, "code", std::string(error.code()));
  set(raised, "argument", fields.argument);
  set(raised, "file", fields.file);
  set(raised, "row", fields.row);
  set(raised, "column", fields.column);
  set(raised, "byte", fields.byte);
  set(raised, "value", fields.value);
  set(raised, "allowed", fields.allowed);
  set(raised, "remedy", fields.remedy.text(spelled));
  PyErr_SetObject(type.ptr(), raised.ptr());
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

#include "files/foreign_formats.hpp"

#include <algorithm>
#include <cctype>

#include "files/file.hpp"
#include "files/file_fields.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

namespace {

using namespace std::string_view_literals;
using Kind = Remedy::Kind;

/// The parts of a path, for messages. If a shell would interpret the name, the placeholder FILE replaces it.
struct Names {
  std::string in;
  std::string out;
  std::string ending;

  explicit Names(const std::string& path) {
    const auto is_plain = [](char character) {
      const auto byte = static_cast<unsigned char>(character);
      return std::isalnum(byte) || byte >= 0x80 || "._/+,=:@%-"sv.find(character) != std::string_view::npos;
    };
    const bool plain = path != "standard input" && !path.starts_with('-') && std::ranges::all_of(path, is_plain);
    in = plain ? path : "FILE";
    const std::string lower = ending_of(in);
    out = in.substr(0, in.size() - lower.size());
    ending = in.substr(out.size());
  }

  std::string put_into(std::string_view text) const {
    std::string result(text);
    const auto put = [&](std::string_view placeholder, const std::string& name) {
      for (std::size_t at = 0; (at = result.find(placeholder, at)) != std::string::npos; at += name.size())
        result.replace(at, placeholder.size(), name);
    };
    put("{in}", in);
    put("{out}", out);
    put("{ending}", ending);
    return result;
  }
};

/// Returns the name without .gz, so that its ending identifies the compressed content.
std::string unpacked_name(const std::string& path) {
  return ending_of(path) == ".gz" ? path.substr(0, path.size() - 3) : path;
}

}  // namespace

std::string Remedy::in_full() const {
  std::string expression(text);
  const std::string modules = imports.empty() ? "" : ", " + std::string(imports);
  switch (kind) {
    case Kind::pandas: return "import pandas; pandas." + expression + ".to_csv('{out}.csv', index=False)";
    case Kind::array: return "import numpy" + modules + "; numpy.save('{out}.npy', " + expression + ")";
    case Kind::matrix: return "import scipy.io" + modules + "; scipy.io.mmwrite('{out}.mtx', " + expression + ")";
    case Kind::networkx:
      return "import csv, networkx; g = " + expression +
             ".to_directed(); csv.writer(open('{out}.csv', 'w', newline='')).writerows((u, v, d.get('weight', 1)) for "
             "u, v, d in g.edges(data=True))";
    case Kind::none:
    case Kind::python:
    case Kind::shell:
    case Kind::advice: break;
  }
  return expression;
}

bool ForeignFormat::has_content(std::string_view bytes) const {
  if (begins.empty() && recognises == nullptr) return false;
  return bytes.starts_with(begins) && (recognises == nullptr || recognises(bytes));
}

bool ForeignFormat::has_name(std::string_view path) const {
  const std::string name = unpacked_name(std::string(path));
  return is_among(endings, ending_of(name)) || is_among(endings, name.substr(name.rfind('/') + 1));
}

std::string ForeignFormat::remedy(const std::string& path, Reader reader) const {
  const bool is_gzip = begins == "\x1f\x8b";
  const std::string unpacked = unpacked_name(path);
  Names names(is_gzip ? path : unpacked);
  if (is_gzip && unpacked != path) return "unpack it: gunzip -k " + names.in;
  if (!has_name(path)) names.out += "-converted";  // otherwise the output would replace the input
  for (const Remedy& one : remedies) {
    if ((one.readers & Remedy::bit(reader)) == 0) continue;
    std::string text = names.put_into(one.in_full());
    if (one.kind == Kind::advice) return text;
    if (one.kind != Kind::shell) text = "python3 -c \"" + text + "\"";
    if (!is_gzip && unpacked != path) text = "gunzip -k " + names.in + ".gz && " + text;
    text.insert(0, "convert it, for example: ");
    if (one.kind == Kind::networkx)
      text.append(" ('weight' is the attribute with the lengths of edges; an edge without one gets 1")
          .append(one.imports.empty() ? ")" : "; this needs " + std::string(one.imports) + ")");
    return text;
  }
  return {};
}

const ForeignFormat* foreign_format(std::string_view bytes, const std::string& path) {
  const ForeignFormat* found = nullptr;
  for (const ForeignFormat& row : foreign_formats()) {
    if (!row.has_content(bytes)) continue;
    if (row.readers == 0 && row.has_name(path)) return &row;
    if (found == nullptr) found = &row;
  }
  if (found != nullptr) return found;
  for (const ForeignFormat& row : foreign_formats())
    if (row.has_name(path)) return &row;
  return nullptr;
}

void refuse_foreign(std::string_view bytes, const std::string& path, Reader reader) {
  const ForeignFormat* const format = foreign_format(bytes, path);
  if (format == nullptr) return;
  const bool by_content = format->has_content(bytes);
  const std::string remedy = format->remedy(path, reader);
  if ((format->readers & Remedy::bit(reader)) != 0 && (!by_content || remedy.empty())) return;
  std::string message = path == "standard input" ? path : "'" + path + "'";
  message.append(by_content ? " is " : " has the name of ").append(format->name).append(", which is not read here");
  ErrorFields fields = fields_of_file(path);
  fields.remedy = remedy.empty() ? std::string(readable(reader)) : remedy;
  if (reader == Reader::frames) throw UnsupportedError(message, fields);
  throw InputError(message, fields);
}

std::string advice_to_run(std::string_view command, const std::string& path) {
  Names names(path);
  names.out += "-converted";
  return "for example: " + names.put_into(command);
}

}  // namespace gradus::files

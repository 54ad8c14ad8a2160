// Raw results of `gradus bench`, read back from their JSON. What is missing in a file or has another form than
// expected is told with the file and the place in it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

/// A value of a JSON file that knows where it stands: "groups[0].rows[3].seconds". All that a caller asks of it and
/// that it is not is an InputError.
class JsonValue {
 public:
  /// The whole file, which must outlive the value.
  JsonValue(const nlohmann::ordered_json& json, const std::string& path) : json_(&json), path_(&path) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }
  JsonValue operator[](const std::string& key) const;
  std::vector<JsonValue> elements() const;
  /// Those of an object, in their order.
  std::vector<std::pair<std::string, JsonValue>> members() const;
  std::string text() const;
  double number() const;
  double positive() const;
  int whole() const;
  bool truth() const;
  [[noreturn]] void fail(const std::string& complaint) const;

 private:
  JsonValue(const nlohmann::ordered_json& json, const std::string* path, std::string place)
      : json_(&json), path_(path), place_(std::move(place)) {}

  const nlohmann::ordered_json* json_;
  const std::string* path_;
  std::string place_;
};

/// InputError, with the byte where it ends to be JSON.
nlohmann::ordered_json read_json(const std::string& path);

/// A measurement, and the file that it was read from.
struct ResultFile {
  std::string path;
  nlohmann::ordered_json json;
  /// Of its rows what `gradus bench` calculated beside the times is among the figures, and also the shares.
  Report report;
};

ResultFile read_result(const std::string& path);

/// Whether it looks like a result of `gradus bench`: it has groups.
bool is_result(const nlohmann::ordered_json& json);
Report report_of(const JsonValue& file);

}  // namespace gradus::bench

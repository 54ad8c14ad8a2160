// Reads raw results of `gradus bench` from JSON. Errors about missing or malformed parts name the file and the place in
// the file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.hpp"

namespace gradus::bench {

/// A value of a JSON file and its place, such as "groups[0].rows[3].seconds". Throws InputError for access to a missing
/// member, or to a value of another type.
class JsonValue {
 public:
  /// The value of the whole file. The file must outlive the value.
  JsonValue(const nlohmann::ordered_json& json, const std::string& path) : json_(&json), path_(&path) {}

  const nlohmann::ordered_json& json() const { return *json_; }
  bool has(const std::string& key) const { return json_->is_object() && json_->contains(key); }
  JsonValue operator[](const std::string& key) const;
  std::vector<JsonValue> elements() const;
  /// Returns the members of an object in file order.
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

/// Reads a JSON file. If it is malformed, throws InputError with the byte offset.
nlohmann::ordered_json read_json(const std::string& path);

struct ResultFile {
  std::string path;
  nlohmann::ordered_json json;
  /// Row::figures holds all numbers of a row for which Row has no other member, such as the shares of ceilings.
  Report report;
};

ResultFile read_result(const std::string& path);

/// Returns true if the JSON has groups, like a result of `gradus bench`.
bool is_result(const nlohmann::ordered_json& json);
Report report_of(const JsonValue& file);

}  // namespace gradus::bench

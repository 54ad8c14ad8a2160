// Verifies a room that has cases: compares every variant with the oracle, on every case and in all types of the case.
// bench/<problem>.cpp instantiates the template. The argument for Room is the class Trial in the room's cases.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bench/verify.hpp"
#include "core/ladder.hpp"
#include "core/names.hpp"
#include "core/phases.hpp"
#include "execution/machine.hpp"
#include "execution/ways.hpp"
#include "gradus/error.hpp"

namespace gradus::bench {

inline constexpr std::size_t differences_kept = 5;

template <class Room>
std::vector<const typename Room::Variant*> wanted_variants(const VerifyOptions& options) {
  std::vector<const typename Room::Variant*> wanted;
  const auto on_wanted_device = [&](const core::VariantInfo& variant) {
    return options.device == Device::automatic ||
           (options.device == Device::gpu) == (variant.backend == core::Backend::cuda);
  };
  if (options.variants.empty())
    for (const auto& variant : Room::variants())
      if (on_wanted_device(variant)) wanted.push_back(&variant);
  for (const std::string& name : options.variants)
    wanted.push_back(&core::find_variant(Room::variants(), name, Room::name));
  return wanted;
}

template <class Room>
std::vector<const typename Room::Case*> wanted_cases(const VerifyOptions& options) {
  std::vector<const typename Room::Case*> wanted;
  std::vector<std::string_view> names;
  for (const auto& one : Room::cases()) {
    names.push_back(one.name);
    if (options.cases.empty()) wanted.push_back(&one);
  }
  for (const std::string& name : options.cases) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw UsageError("there is no " + std::string(Room::name) + " case '" + name + "'" +
                       core::did_you_mean(name, names) + "; 'gradus verify " + std::string(Room::name) +
                       " --list-cases' shows all of them");
    wanted.push_back(&Room::cases()[static_cast<std::size_t>(found - names.begin())]);
  }
  return wanted;
}

// Verifies every variant on one case in type T. `rows` has one row per variant for this type.
template <class Room, class T, class CaseData>
void verify_case(const typename Room::Case& one, const CaseData& data, int seed, const VerifyOptions& options,
                 const std::vector<const typename Room::Variant*>& variants, std::vector<VerifyRow>& rows) {
  const typename Room::template PreparedCase<T> prepared(data);
  for (std::size_t index = 0; index < variants.size(); ++index) {
    const auto& variant = *variants[index];
    VerifyRow& row = rows[index];
    const core::Support support = variant.supports(prepared.shape(), execution::this_machine());
    if (!support || !prepared.promises(variant.contract)) {
      ++row.cases_left_out;
      if (!support) row.skipped = support.reason;
      continue;
    }
    (void)prepared.truth();  // computes the oracle's result before the clock starts
    const auto start = core::Clock::now();
    bool passed = true;
    for (const execution::Way& way : execution::ways_to_run(variant, options.threads)) {
      const std::string difference = execution::fault_of(prepared, variant, way.execution);
      ++row.checks;
      if (difference.empty()) continue;
      passed = false;
      if (row.differences.size() < differences_kept)
        row.differences.push_back(one.name + ", seed " + std::to_string(seed) + ", " + way.text + ": " + difference);
    }
    row.seconds += core::seconds_since(start);
    ++row.cases;
    row.cases_passed += passed;
  }
}

/// Returns the contract of a variant in type T. This is the contract in the variant's row, unless the room defines
/// another contract for this type.
template <class Room, class T>
core::Contract contract_in(const typename Room::Variant& variant) {
  if constexpr (requires { Room::template contract_in<T>(variant); }) return Room::template contract_in<T>(variant);
  else return variant.contract;
}

template <class Room, class T, class Variant>
std::vector<VerifyRow> empty_rows(const std::vector<const Variant*>& variants) {
  std::vector<VerifyRow> rows;
  for (const Variant* variant : variants) {
    VerifyRow row;
    row.variant = variant->name;
    row.dtype = execution::element_name<T>();
    row.contract = contract_in<Room, T>(*variant);
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Room, class... T>
VerifyReport verify_room_in(core::Elements<T...>, const VerifyOptions& options, const VerifyProgress& progress) {
  const auto variants = wanted_variants<Room>(options);
  const auto cases = wanted_cases<Room>(options);
  std::vector<std::vector<VerifyRow>> rows;  // one list of rows for each type
  (rows.push_back(empty_rows<Room, T>(variants)), ...);
  const std::int64_t total = static_cast<std::int64_t>(cases.size()) * options.seeds;
  std::int64_t done = 0;
  for (const auto* one : cases)
    for (int seed = 1; seed <= options.seeds; ++seed) {
      if (progress) progress(done, total, one->name);
      const auto data = one->make(static_cast<std::uint64_t>(seed));
      std::size_t type = 0;
      (verify_case<Room, T>(*one, data, seed, options, variants, rows[type++]), ...);
      ++done;
    }
  if (progress) progress(done, total, "");

  VerifyReport report{std::string(Room::name), options, {}};
  for (std::size_t index = 0; index < variants.size(); ++index)
    for (std::vector<VerifyRow>& of_type : rows) {
      VerifyRow& row = of_type[index];
      if (row.checks > 0) row.skipped.clear();
      else if (row.skipped.empty()) row.skipped = "none of the cases is within its contract";
      report.rows.push_back(std::move(row));
    }
  return report;
}

template <class Room>
VerifyReport verify_room(const VerifyOptions& options, const VerifyProgress& progress) {
  return verify_room_in<Room>(typename Room::Elements(), options, progress);
}

template <class Room>
std::vector<std::string> case_names_of() {
  std::vector<std::string> names;
  for (const auto& one : Room::cases()) names.push_back(one.name);
  return names;
}

}  // namespace gradus::bench

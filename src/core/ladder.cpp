#include "core/ladder.hpp"

#include "core/text.hpp"

namespace gradus::core {

std::string_view to_string(Contract::Kind kind) {
  switch (kind) {
    case Contract::same_bits: return "same bits";
    case Contract::within: return "tolerance";
    case Contract::invariants: return "invariants";
  }
  return "?";
}

std::string text(const Contract& contract) {
  if (contract == Contract::within) return "within " + number_text(contract.bound);
  return kind_text(contract);
}

std::string kind_text(const Contract& contract) {
  std::string words(to_string(contract.kind));
  if (contract == Contract::same_bits && !contract.of.empty()) words.append(" of ").append(contract.of);
  return words;
}

}  // namespace gradus::core

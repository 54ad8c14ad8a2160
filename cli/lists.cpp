#include "cli/lists.hpp"

#include "gradus/error.hpp"

namespace gradus::cli {

std::vector<std::string> parse_list(std::string_view name, std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    if (parts.back().empty()) throw UsageError(std::string(name) + ": a value is empty; write them as a,b,c");
    begin = end + 1;
  }
  return parts;
}

std::vector<double> parse_real_list(std::string_view name, std::string_view text, double least, double most) {
  std::vector<double> numbers;
  for (const std::string& part : parse_list(name, text)) numbers.push_back(parse_real(name, part, least, most));
  return numbers;
}

std::vector<int> parse_whole_list(std::string_view name, std::string_view text, int least, int most) {
  std::vector<int> numbers;
  for (const std::string& part : parse_list(name, text))
    numbers.push_back(static_cast<int>(parse_whole(name, part, least, most)));
  return numbers;
}

}  // namespace gradus::cli

// How a table of text is read.
#pragma once

#include <cstddef>

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"

namespace gradus::files {

/// The fields of a line are separated by a semicolon, else by a comma, else by a tab, else by a bar, else by blanks:
/// the first of these that the first line holds outside quotes, preferably one that makes as many fields of the row
/// below. A tab comes before a comma where it would be within a field otherwise, or where decimals are said to follow a
/// comma. A line "sep=;" above the table says it. Blanks around a field are skipped.
enum class Separator : char { detect = 0, semicolon = ';', comma = ',', tab = '\t', bar = '|', blanks = ' ' };

struct CsvOptions {
  Separator separator = Separator::detect;
  HeaderLine header = HeaderLine::automatic;
  ColumnChoice columns = {};
  NumberStyle style = {};
  Comment comment = {};
  Missing missing = Missing::error;
  bool names_matter = true;  ///< a first line of numbers that might be names is told of
  int threads = 1;
  std::size_t stretch = std::size_t{1} << 18;  ///< bytes, more or less, that a thread parses at a time
};

}  // namespace gradus::files

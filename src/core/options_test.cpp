// Tests option tables and the names of enumerators, with a struct that has one option of each kind.
#include "core/options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/variant_options.hpp"
#include "gradus/error.hpp"
#include "tests/options.hpp"

namespace gradus {

enum class Colour : std::uint8_t { dark_red, green };
template <>
inline constexpr auto enum_names<Colour> = std::to_array<EnumName<Colour>>({{Colour::dark_red, "dark-red", "crimson"},
                                                                            {Colour::green, "green"}});

struct Paint {
  std::int64_t coats = 2;
  int layers = 1;
  std::uint64_t seed = 3;
  double gloss = 0.1;
  double dilution = 1;
  bool dry = false;
  Colour colour = Colour::green;
  std::string name = "wall";
  std::optional<double> price = {};
  std::vector<double> mixture = {};
  std::vector<std::int64_t> places = {};
  struct Shop {
    std::int64_t tins = 0;
  } shop = {};
};

namespace core {

template <>
inline constexpr auto option_rows<Paint> = std::to_array<Option>({
    option<&Paint::coats>({.name = "coats", .help = "", .least = 1, .most = 9}),
    option<&Paint::layers>({.name = "layers", .help = "", .in_job = false}),
    option<&Paint::seed>({.name = "seed", .help = ""}),
    option<&Paint::gloss>({.name = "gloss_share", .help = "", .shown = "gloss", .least = 0, .most = 1}),
    option<&Paint::dilution>({.name = "dilution", .help = "", .least = 0, .above_least = true, .finite = false}),
    option<&Paint::dry>({.name = "dry", .help = ""}),
    option<&Paint::colour>({.name = "colour", .help = ""}),
    option<&Paint::name>({.name = "name", .help = ""}),
    option<&Paint::price>({.name = "price", .help = "", .least = 0, .optional = true}),
    option<&Paint::mixture>({.name = "mixture", .help = "", .optional = true}),
    option<&Paint::places>({.name = "places", .help = "", .optional = true}),
    option<&Paint::shop, &Paint::Shop::tins>({.name = "tins", .help = "", .least = 1, .optional = true}),
});

namespace {

std::string error_of(const Paint& paint) {
  try {
    check_options(paint);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, ReadAndWriteTheirMembers) {
  Paint paint;
  for (const Option& row : option_rows<Paint>) {
    const Value before = row.get(&paint);
    EXPECT_EQ(before, row.default_value()) << row.name;
    EXPECT_EQ(std::holds_alternative<std::monostate>(before), row.optional) << row.name;
    const Value other = tests::other_value(row, before);
    row.set(&paint, other);
    EXPECT_EQ(row.get(&paint), other) << row.name;
    EXPECT_NE(value_text(row, other), value_text(row, before)) << row.name;
    row.set(&paint, before);
    EXPECT_EQ(row.get(&paint), before) << row.name;
    row.set(&paint, other);
  }
  EXPECT_EQ(error_of(paint), "");
}

TEST(Options, RefuseWhatIsOutOfRange) {
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of({.coats = 0}), "coats must be at least 1, not 0");
  EXPECT_EQ(error_of({.coats = 10}), "coats must be at most 9, not 10");
  EXPECT_EQ(error_of({.layers = std::numeric_limits<int>::min()}), "");
  EXPECT_EQ(error_of({.gloss = 1.5}), "gloss_share must be at most 1, not 1.5");
  EXPECT_EQ(error_of({.gloss = std::nan("")}), "gloss_share must be a finite number, not nan");
  EXPECT_EQ(error_of({.dilution = 0}), "dilution must be greater than 0, not 0");
  EXPECT_EQ(error_of({.dilution = std::nan("")}), "dilution must be greater than 0, not nan");
  EXPECT_EQ(error_of({.dilution = HUGE_VAL}), "");
  EXPECT_EQ(error_of({.price = -1}), "price must be at least 0, not -1");
  EXPECT_EQ(error_of({.shop = {-1}}), "tins must be at least 1, not -1");
  EXPECT_EQ(error_of({.colour = static_cast<Colour>(2)}), "colour: 2 is not one of the values 0 to 1");
  int values = 0;
  for (const Option& row : option_rows<Paint>)
    for (const Value& value : tests::refused_values(row)) {
      Paint paint;
      row.set(&paint, value);
      EXPECT_NE(error_of(paint), "") << row.name;
      ++values;
    }
  EXPECT_GT(values, 5);
}

TEST(Options, AreLinesOfAJob) {
  EXPECT_EQ(
      option_lines(Paint{}),
      "coats=2\nseed=3\ngloss_share=0.10000000000000001\ndilution=1\ndry=false\ncolour=green\nname=wall\nprice=none\n"
      "mixture=none\nplaces=none\ntins=none\n");
  Paint paint{.price = 0.1, .mixture = {0.5, 0.1}, .places = {3, -4}, .shop = {7}};
  EXPECT_TRUE(option_lines(paint).ends_with(
      "price=0.10000000000000001\nmixture=0.5,0.10000000000000001\nplaces=3,-4\ntins=7\n"));
  paint.mixture.assign(1000, 0.1);
  const std::string many = option_lines(paint);
  EXPECT_NE(many.find("mixture=1000 numbers with the hash "), std::string::npos);
  paint.mixture.back() += 0x1p-56;
  EXPECT_NE(option_lines(paint), many);
}

TEST(Options, AreFoundByBothNames) {
  EXPECT_EQ(find_option(option_rows<Paint>, "gloss"), find_option(option_rows<Paint>, "gloss_share"));
  EXPECT_EQ(find_option(option_rows<Paint>, "glos"), nullptr);
}

std::string error_of(const std::vector<VariantOption>& given, const VariantOptions& variant) {
  const VariantOptions all[] = {{"plain"}, {"painted", &option_table<Paint>}};
  try {
    check_variant_options(Execution{.variant_options = given}, variant, all, "wall");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(VariantOptions, AreReadFromTheirTexts) {
  Execution execution;
  Paint expected;
  for (const Option& row : option_rows<Paint>) {
    const Value other = tests::other_value(row, row.get(&expected));
    row.set(&expected, other);
    execution.variant_options.push_back({std::string(row.name), value_text(row, other)});
  }
  EXPECT_EQ(option_lines(variant_options<Paint>(execution)), option_lines(expected));
  EXPECT_EQ(variant_options<Paint>({.variant_options = {{"colour", "dark_red"}}}).colour, Colour::dark_red);
}

TEST(VariantOptions, RefuseWhatAVariantDoesNotHave) {
  const VariantOptions painted{"painted", &option_table<Paint>};
  EXPECT_EQ(error_of({{"coats", "9"}, {"dry", "false"}}, painted), "");
  EXPECT_EQ(error_of({{"coats", "10"}}, painted), "coats must be at most 9, not 10");
  EXPECT_EQ(error_of({{"coats", "two"}}, painted), "coats: 'two' is not an integer");
  EXPECT_EQ(error_of({{"seed", "-1"}}, painted), "seed: '-1' is not an integer of at least 0");
  EXPECT_EQ(error_of({{"gloss", "0.5x"}}, painted), "gloss_share: '0.5x' is not a number");
  EXPECT_EQ(error_of({{"dry", "yes"}}, painted), "dry: 'yes' is not true or false");
  EXPECT_EQ(error_of({{"colour", "gren"}}, painted),
            "colour: 'gren' is not one of dark-red, green (did you mean 'green'?)");
  EXPECT_EQ(error_of({{"coat", "1"}}, painted),
            "variant_options: no wall variant has an option 'coat' (did you mean 'coats'?)");
  EXPECT_EQ(error_of({{"coats", "1"}}, {"plain"}),
            "wall variant 'plain' does not have the option coats; leave it out, or ask for a variant that has it: "
            "'painted'");
}

TEST(EnumNames, LeadThereAndBack) {
  for (const EnumName<Colour>& row : enum_names<Colour>)
    EXPECT_EQ(from_string<Colour>(to_string(row.value)), row.value);
  EXPECT_EQ(from_string<Colour>("dark_red"), Colour::dark_red);
  EXPECT_EQ(from_string<Colour>("crimson"), Colour::dark_red);
  EXPECT_EQ(from_string<Colour>("blue"), std::nullopt);
  EXPECT_EQ(from_string<Colour>(""), std::nullopt);
  EXPECT_EQ(to_string(static_cast<Colour>(7)), "?");
}

}  // namespace
}  // namespace core
}  // namespace gradus

#include "api/meta/quantity.h"

#include <gtest/gtest.h>

namespace yard {
namespace {

TEST(Quantity, PrintsInItsCanonicalForm) {
  struct Case {
    const char* about;
    const char* text;
    const char* canonical;
  };
  const Case cases[] = {
      {"zero has no unit", "0Gi", "0"},
      {"a fraction becomes the next smaller unit", "0.5", "500m"},
      {"a leading zero may be left out", ".5", "500m"},
      {"whole milli-units become units", "1000m", "1"},
      {"thousands become k", "1000", "1k"},
      {"odd thousands stay as they are", "1500", "1500"},
      {"binary units grow", "1024Mi", "1Gi"},
      {"a binary fraction becomes whole", "1.5Gi", "1536Mi"},
      {"small binary values are plain numbers", "0.5Ki", "512"},
      {"binary values round up to whole units", "1.0000001Ki", "1025"},
      {"an exponent is kept", "1e3", "1e3"},
      {"exponents are multiples of three", "12E4", "120e3"},
      {"E alone is exa", "1E", "1E"},
      {"negative values keep their sign", "-1500m", "-1500m"},
      {"a plus sign is dropped", "+3", "3"},
      {"less than a nano rounds up", "0.1n", "1n"},
      {"more than the largest is the largest", "1e30", "9223372036854775807"},
      {"zeros before and after do not matter", "000.500000000000000000000000", "500m"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.about);
    const Result<Quantity> quantity = Quantity::parse(c.text);
    ASSERT_TRUE(quantity.has_value());
    EXPECT_EQ(quantity->canonical(), c.canonical);
  }
}

TEST(Quantity, RefusesOtherTexts) {
  for (const char* text : {"", ".", "-", "m", "1 ", "abc", "1.1.1", "5%", "1e3x", "--1"}) {
    SCOPED_TRACE(text);
    const Result<Quantity> quantity = Quantity::parse(text);
    ASSERT_FALSE(quantity.has_value());
    EXPECT_EQ(quantity.error().message,
              "quantities must match the regular expression "
              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  for (const char* text : {"1i", "1mi", "1e", "1e-", "1KM"}) {
    SCOPED_TRACE(text);
    const Result<Quantity> quantity = Quantity::parse(text);
    ASSERT_FALSE(quantity.has_value());
    EXPECT_EQ(quantity.error().message, "unable to parse quantity's suffix");
  }
}

TEST(Quantity, CountsUnitsAwayFromZero) {
  EXPECT_EQ(Quantity::parse("1500m")->value(), 2);
  EXPECT_EQ(Quantity::parse("-1500m")->value(), -2);
  EXPECT_EQ(Quantity::parse("1500u")->milli(), 2);
  EXPECT_EQ(Quantity::parse("1Ei")->value(), int64_t{1} << 60);
  EXPECT_EQ(Quantity::parse("8Ei")->value(), INT64_MAX);
  EXPECT_EQ(Quantity::parse("9E")->milli(), INT64_MAX);
}

TEST(Quantity, ComparesAndAddsAcrossFormats) {
  EXPECT_EQ(*Quantity::parse("1Gi"), *Quantity::parse("1024Mi"));
  EXPECT_LT(*Quantity::parse("1G"), *Quantity::parse("1Gi"));
  EXPECT_EQ((*Quantity::parse("1Gi") + *Quantity::parse("512Mi")).canonical(), "1536Mi");
  EXPECT_EQ((Quantity() + *Quantity::parse("1Gi")).canonical(), "1Gi");
  EXPECT_EQ((Quantity::of(1) - *Quantity::parse("250m")).canonical(), "750m");
}

}  // namespace
}  // namespace yard

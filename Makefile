# The commands of this project. `make demo` shows it at work, `make test` proves it; both install what is missing.
.DEFAULT_GOAL := help

BUILD  ?= build/release
PREFIX ?= /usr/local
WERROR ?= OFF
UNITY  ?= 8
DEMO   := build/demo
TIME   ?= 60
PYTHON ?= python3
FUZZERS ?= parser frontend schedule profile gpu npy pnm

sources := $(shell git ls-files 'src/*.h' 'src/*.cpp' 'tests/*.h' 'tests/*.cpp' 'examples/*.h' 'examples/*.cpp' \
                                'bench/*.h' 'bench/*.cpp' 2>/dev/null)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

deps: ## install the Debian packages that are missing
	@tools/install-deps.sh

configure: deps
	@cmake --preset release -B $(BUILD) -DPIPEC_WERROR=$(WERROR) -DCMAKE_UNITY_BUILD_BATCH_SIZE=$(UNITY) -Wno-dev > /dev/null

build: configure ## build the compiler and all else into build/release
	cmake --build $(BUILD)

test: build ## build everything and run the tests
	ctest --preset release --test-dir $(BUILD) -j $(shell nproc) -E "$$(grep -v -e '^#' -e '^$$' tests/thorough.txt | paste -sd'|')"

test-all: build ## the same with the tests that take long (tests/thorough.txt)
	ctest --preset release --test-dir $(BUILD) -j $(shell nproc)

demo: configure ## compile an example and run it on a photograph
	cmake --build $(BUILD) --target pipec pipec-run
	@mkdir -p $(DEMO)
	$(BUILD)/pipec run examples/sketch.pipe --in img=examples/images/chelsea.png --out out=$(DEMO)/drawing.png
	@echo "The photograph: examples/images/chelsea.png"
	@echo "The drawing:    $(DEMO)/drawing.png"

gallery: configure ## the pictures of the documentation, and docs/gallery.md
	cmake --build $(BUILD) --target pipec pipec-run
	docs/gallery/make.sh $(BUILD)/pipec docs/images
	bench/readme_chart.py docs/images/comparison.svg
	docs/gallery/page.py docs/gallery.md

install: configure ## install into PREFIX (default /usr/local)
	cmake --build $(BUILD) --target pipec pipec-run
	cmake --install $(BUILD) --prefix $(PREFIX)

deb: deps ## build/deb/pipec_*.deb: the Debian package
	@cmake -S . -B build/deb -G Ninja -DCMAKE_BUILD_TYPE=Release -DPIPEC_BUILD_TESTS=OFF -DPIPEC_BUILD_EXAMPLES=OFF \
	       -DPIPEC_PYTHON_DIR=lib/python3/dist-packages -Wno-dev > /dev/null
	cmake --build build/deb --target pipec pipec-run
	cd build/deb && cpack -G DEB > /dev/null
	@ls build/deb/*.deb

wheel: ## build/wheel/pipec-*.whl: the Python package (needs setuptools and wheel)
	@rm -rf build/python && mkdir -p build/wheel && cp -r python build/python
	cd build/python && $(PYTHON) -c 'from setuptools import build_meta; build_meta.build_wheel("../wheel")' > /dev/null
	@ls build/wheel/*.whl

static: deps ## build build/static/pipec and pipec-run, for machines without their libraries
	@cmake -S . -B build/static -G Ninja -DCMAKE_BUILD_TYPE=Release -DPIPEC_STATIC=ON -DPIPEC_IMAGES=OFF \
	       -DPIPEC_BUILD_TESTS=OFF -DPIPEC_BUILD_EXAMPLES=OFF -Wno-dev > /dev/null
	cmake --build build/static --target pipec pipec-run

bench: build ## how long, and with how much memory, the examples compile
	$(BUILD)/compile_bench $(BUILD)/pipec examples/*.pipe
	bench/compile/families.py --measure $(BUILD)/pipec

# tests/fuzz/run.sh has the flags; docs/fuzzing.md says more.
fuzz: deps ## run each fuzzer for TIME seconds (default 60)
	@cmake --preset fuzz -Wno-dev > /dev/null
	cmake --build build/fuzz --target $(FUZZERS:%=fuzz_%)
	tests/fuzz/run.sh build/fuzz . $(TIME) $(FUZZERS)

format: ## format the sources with clang-format, and programs and documentation with pipec
	clang-format -i $(sources)
	@if $(BUILD)/pipec fmt --help > /dev/null 2>&1; then tools/format-programs.py $(BUILD)/pipec .; fi

check-format: ## whether `make format` would change anything
	@clang-format --dry-run --Werror $(sources)
	@if $(BUILD)/pipec fmt --help > /dev/null 2>&1; then tools/format-programs.py --check $(BUILD)/pipec .; \
	 else echo "programs are checked once there is $(BUILD)/pipec"; fi

# clang cannot read the ANTLR runtime's headers, and isl's take it very long. The release preset compiles several files
# as one; the debug preset has a command for each.
lint: deps ## run clang-tidy
	@cmake --preset debug -Wno-dev > /dev/null
	clang-tidy -p build/debug --quiet $(filter-out src/frontend/parse%.cpp src/poly/%.cpp,$(filter src/%.cpp,$(sources)))

clean: ## remove everything that was built
	rm -rf build

.PHONY: help deps configure build test test-all demo gallery install deb wheel static bench fuzz format check-format lint clean

#include "engine/report.h"

#include <cstdio>
#include <cstdlib>

#include "engine/symbols.h"

namespace simt {
namespace {

CatchFaults* catcher = nullptr;
bool failed = false;

std::string heading(Kind kind, const std::string& what) {
    return std::string("simt: ") + kind_name(kind) + ": " + what + "\n";
}

}  // namespace

void keep(Fault fault) {
    failed = true;
    if (catcher == nullptr) {
        std::fflush(nullptr);
        std::fputs(fault.text.c_str(), stderr);
        std::_Exit(86);
    }
    catcher->faults_.push_back(std::move(fault));
}

CatchFaults::CatchFaults() : outer_(catcher) {
    catcher = this;
}

CatchFaults::~CatchFaults() {
    catcher = outer_;
    failed = false;
    cudaGetLastError();
}

std::string CatchFaults::text() const {
    std::string result;
    for (const Fault& fault : faults_) result += fault.text;
    return result;
}

const char* kind_name(Kind kind) {
    switch (kind) {
        case Kind::OutOfBounds: return "out of bounds";
        case Kind::Uninitialized: return "uninitialized";
        case Kind::Misaligned: return "misaligned";
        case Kind::Race: return "race";
        case Kind::Divergence: return "divergence";
        case Kind::BadCollective: return "bad collective";
        case Kind::HostAccess: return "host access";
        case Kind::Undefined: return "undefined behaviour";
    }
    return "";
}

bool device_failed() {
    return failed;
}

std::string text(Site site) {
    const std::string file = site.file;
    return file.substr(file.rfind('/') + 1) + ":" + std::to_string(site.line);
}

std::string text(uint3 v) {
    return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

Fault fault_of(Kind kind, const Lane& lane, const std::string& what, const std::string& where,
               const std::string& other) {
    const std::string kernel = kernel_name(running.block->grid->kernel);
    std::string report = heading(kind, what) + "  at " + where + ", in kernel " + kernel + ", block " +
                         text(running.block->index) + ", thread " + text(lane.thread) + "\n";
    if (!other.empty()) report += "  " + other + "\n";
    return {kind, kernel, std::move(report)};
}

void lane_fault(Kind kind, const Lane& lane, const std::string& what, const std::string& where,
                const std::string& other) {
    // What was read and not written is likely to be the cause of what went wrong after it.
    std::optional<Fault>& earlier = running.block->grid->unwritten_read;
    keep(earlier && kind != Kind::Race ? *earlier : fault_of(kind, lane, what, where, other));
    running.block->drop();
}

void block_fault(Kind kind, const std::string& what) {
    const std::string kernel = kernel_name(running.block->grid->kernel);
    keep({kind, kernel,
          heading(kind, "some lanes wait for others that will not come") + "  in kernel " + kernel + ", block " +
              text(running.block->index) + "\n  " + what + "\n"});
}

void launch_fault(Kind kind, const void* function, const std::string& what) {
    const std::string kernel = kernel_name(function);
    keep({kind, kernel, heading(kind, what) + "  at the launch of kernel " + kernel + "\n"});
}

void host_fault(Kind kind, const std::string& what, const std::string& where) {
    keep({kind, {}, heading(kind, what) + "  at " + where + "\n"});
}

}  // namespace simt

/* libcuda.so.1 as the Python package needs it, with two GPUs whose memory is the host's. It notes what it is asked for,
 * and knows which memory is on which GPU. fake_launch is what the "kernels" call, which are the host's code. Many
 * threads call it at the same time, as calls of ctypes do not hold Python's lock. */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 2, BLOCKS = 4096, DEPTH = 16 };
static struct {
    char* memory;
    size_t size;
    int device;
} blocks[BLOCKS];
static char notes[1 << 16], failing[64];
static _Thread_local int contexts[DEPTH], depth;
static int live, no_pools;
static uint64_t next_event = 100;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of blocks, live and notes */

static void note(const char* form, ...) {
    va_list values;
    pthread_mutex_lock(&mutex);
    size_t used = strlen(notes);
    va_start(values, form);
    vsnprintf(notes + used, sizeof notes - used, form, values);
    va_end(values);
    pthread_mutex_unlock(&mutex);
}
static int fails(const char* name) {
    return strcmp(name, failing) == 0;
}

const char* fake_notes(void) {
    return notes;
}
void fake_clear(void) {
    notes[0] = 0;
}
void fake_fail(const char* name) {
    snprintf(failing, sizeof failing, "%s", name);
}
void fake_set_no_pools(int on) {
    no_pools = on;
}
int fake_live(void) {
    return live;
}
int fake_depth(void) {
    return depth;
}
void* fake_allocate(int device, size_t size) {
    void* result = NULL;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < BLOCKS && result == NULL; ++i) {
        if (blocks[i].memory != NULL) continue;
        result = blocks[i].memory = aligned_alloc(256, (size + 255) / 256 * 256 + 256);
        blocks[i].size = size;
        blocks[i].device = device;
        ++live;
    }
    pthread_mutex_unlock(&mutex);
    return result;
}
int fake_free(uint64_t address) {
    int found = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < BLOCKS && address != 0 && !found; ++i) {
        if ((uint64_t)(uintptr_t)blocks[i].memory != address) continue;
        free(blocks[i].memory);
        blocks[i].memory = NULL;
        --live;
        found = 1;
    }
    pthread_mutex_unlock(&mutex);
    return !found;
}
int fake_launch(void* stream) {
    if (depth == 0 || fails("launch")) return 1;
    note("launch on %d in %llu\n", contexts[depth - 1] - 1, (unsigned long long)(uintptr_t)stream);
    return 0;
}

int cuInit(unsigned flags) {
    return (int)flags;
}
int cuDeviceGetCount(int* count) {
    *count = DEVICES;
    return 0;
}
int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal >= DEVICES;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    *value = attribute == 115 && !no_pools;
    return device >= DEVICES;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    *context = (void*)(uintptr_t)(device + 1);
    return 0;
}
int cuCtxGetDevice(int* device) {
    if (depth == 0) return 201;
    *device = contexts[depth - 1] - 1;
    return 0;
}
int cuCtxPushCurrent_v2(void* context) {
    if (depth == DEPTH) return 1;
    contexts[depth++] = (int)(uintptr_t)context;
    return 0;
}
int cuCtxPopCurrent_v2(void** context) {
    if (depth == 0) return 201;
    *context = (void*)(uintptr_t)contexts[--depth];
    return 0;
}
int cuPointerGetAttribute(int* value, int attribute, uint64_t address) {
    int found = 0;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < BLOCKS && attribute == 9 && !found; ++i) {
        uint64_t first = (uint64_t)(uintptr_t)blocks[i].memory;
        if (first == 0 || address < first || address >= first + blocks[i].size) continue;
        *value = blocks[i].device;
        found = 1;
    }
    pthread_mutex_unlock(&mutex);
    return !found;
}
static int allocate(uint64_t* address, size_t size) {
    if (depth == 0) return 201;
    if (fails("memory")) return 2;
    *address = (uint64_t)(uintptr_t)fake_allocate(contexts[depth - 1] - 1, size);
    return 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
    note("allocate\n");
    return allocate(address, size);
}
int cuMemFree_v2(uint64_t address) {
    note("free\n");
    return fake_free(address);
}
int cuMemPoolCreate(void** pool, const int* properties) {
    *pool = (void*)(uintptr_t)(properties[3] + 1);
    return properties[0] != 1 || properties[2] != 1;
}
int cuMemPoolSetAttribute(void* pool, int attribute, uint64_t* value) {
    return pool == NULL || attribute != 4 || *value != UINT64_MAX;
}
int cuMemAllocFromPoolAsync(uint64_t* address, size_t size, void* pool, void* stream) {
    if (depth == 0 || (int)(uintptr_t)pool != contexts[depth - 1]) return 201;
    note("allocate in %llu\n", (unsigned long long)(uintptr_t)stream);
    return allocate(address, size);
}
int cuMemFreeAsync(uint64_t address, void* stream) {
    if (depth == 0) return 201;
    note("free in %llu\n", (unsigned long long)(uintptr_t)stream);
    return fake_free(address);
}
int cuStreamSynchronize(void* stream) {
    note("wait for %llu\n", (unsigned long long)(uintptr_t)stream);
    return 0;
}
int cuEventCreate(uint64_t* event, unsigned flags) {
    *event = ++next_event;
    return flags != 2;
}
int cuEventRecord(uint64_t event, void* stream) {
    note("after %llu ", (unsigned long long)(uintptr_t)stream);
    return event != next_event;
}
int cuStreamWaitEvent(void* stream, uint64_t event, unsigned flags) {
    note("comes %llu\n", (unsigned long long)(uintptr_t)stream);
    return event != next_event || flags != 0;
}
int cuEventDestroy_v2(uint64_t event) {
    return event != next_event;
}
int cuGetErrorName(int error, const char** text) {
    *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
    return 0;
}
int cuGetErrorString(int error, const char** text) {
    *text = error == 2 ? "out of memory" : "something else";
    return 0;
}

/* What both stand-ins read: the variables that say which driver and GPU they stand in for. */

#ifndef STACKPROOF_TWIN_H
#define STACKPROOF_TWIN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
#define GPU_NAME_BYTES 96

typedef struct {
    int major, minor;
    char name[GPU_NAME_BYTES];
} twin_gpu;

/* The CUDA level, such as 12040; 0 where the variable is missing or no number. */
static inline int twin_level(void) {
    const char *text = getenv("STACKPROOF_TWIN_CUDA");
    char *end = NULL;
    long level = text ? strtol(text, &end, 10) : 0;
    return end && *end == '\0' && level > 0 && level < 100000 ? (int)level : 0;
}

/* The one GPU, from "8.0:NVIDIA A100"; answers 0 where there is none. */
static inline int twin_read_gpu(twin_gpu *gpu) {
    const char *text = getenv("STACKPROOF_TWIN_GPU");
    return text && sscanf(text, "%2d.%1d:%95[^\n]", &gpu->major, &gpu->minor, gpu->name) == 3;
}

/* Copies a text into a caller's buffer of `room` bytes; answers 0 where it does not fit. */
static inline int twin_copy(char *to, size_t room, const char *text) {
    if (!to || strlen(text) >= room) return 0;
    memcpy(to, text, strlen(text) + 1);
    return 1;
}

#endif

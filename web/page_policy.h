/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Content-Security-Policy of a page whose script and style stand inside it.
 */
#ifndef PELTON_PAGE_POLICY_H
#define PELTON_PAGE_POLICY_H

#include <stddef.h>

enum { PAGE_POLICY = 1024 };

/* Of the first <script>, and of the first <style>, the hash is allowed. */
void page_policy(const char *html, size_t size, char out[PAGE_POLICY]);

#endif

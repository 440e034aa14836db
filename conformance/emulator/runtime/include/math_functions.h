// Part of what the emulator includes before every text.
#pragma once

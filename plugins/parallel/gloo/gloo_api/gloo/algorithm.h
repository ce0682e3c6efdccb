#pragma once
// Nothing of it is named.

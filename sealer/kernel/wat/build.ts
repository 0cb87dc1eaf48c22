import { writeFile } from 'node:fs/promises'
import { assembleKernel, binarySource } from './assemble.ts'

/** The build step after tsc: replaces the compiled `binary.ts` with the assembled kernel. */

if (!import.meta.url.endsWith('.js'))
  throw new Error('Run the compiled file (build.js): it writes the binary.js beside it')
await writeFile(new URL('../binary.js', import.meta.url), binarySource(await assembleKernel()))

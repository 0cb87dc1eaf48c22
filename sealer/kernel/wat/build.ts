import { writeFile } from 'node:fs/promises'
import { assembleKernel, binarySource } from './assemble.ts'

/** The step of the build after tsc: puts the assembled kernel in the place of the compiled `binary.ts`. */

if (!import.meta.url.endsWith('.js'))
  throw new Error('Run what tsc made of this file: it writes the binary.js beside it')
await writeFile(new URL('../binary.js', import.meta.url), binarySource(await assembleKernel()))

import type { promises } from 'node:fs'
import type { WriteFileOptions } from '../../adapters/files/node-files.ts'

/**
 * Does what `fs.writeFile` of Node does, by the calls of a file handle, so that a test can intercept each of them. A
 * preload may import this: it loads no module of the product.
 */
export async function writeFileByCalls(
  open: typeof promises.open,
  path: string,
  bytes: Uint8Array,
  { flag, mode, flush }: WriteFileOptions,
): Promise<void> {
  const handle = await open(path, flag, mode)
  try {
    for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten
    if (flush) await handle.sync()
  } finally {
    await handle.close()
  }
}

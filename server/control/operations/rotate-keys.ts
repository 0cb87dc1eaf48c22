import type { CheckpointKeyInfo } from '../../../core/index.ts'
import { parseNoArgs, type ControlOperation } from '../operation.ts'

/** Puts the next checkpoint key into the log, signed by the current one. */
export const rotateKeysOperation: ControlOperation<
  Readonly<Record<string, never>>,
  { readonly key: CheckpointKeyInfo }
> = {
  name: 'keys rotate',
  opens: 'writable',
  parse: parseNoArgs,
  async run({ registry, logger }, _, { signal }) {
    const key = await registry.checkpointKeys.rotate(signal)
    logger.info({ vkey: key.vkey, from: key.from }, 'checkpoint key rotated')
    return { key }
  },
}

import { parseNoArgs, type ControlOperation } from '../operation.ts'

/** A checkpoint key of the log. */
export interface ListedKey {
  /** C2SP verifier key. */
  readonly vkey: string
  /** The smallest tree size that the key signs. */
  readonly from: number
  /** The largest tree size that it signs; `null`: it is the newest key. */
  readonly until: number | null
}

/** Lists the checkpoint keys of the log, oldest first. */
export const listKeysOperation: ControlOperation<
  Readonly<Record<string, never>>,
  { readonly keys: readonly ListedKey[] }
> = {
  name: 'keys list',
  opens: 'read-only',
  parse: parseNoArgs,
  run: async ({ registry }) => ({
    keys: registry.log.policy().keys.map(({ vkey, from, until }) => ({ vkey, from, until })),
  }),
}

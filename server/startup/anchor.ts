import type * as Evm from '../../adapters/evm/index.ts'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import type { Clock, Logger } from '../../core/index.ts'
import type { Anchor } from '../../adapters/kit/index.ts'
import type { SealerOptions } from '../../sealer/index.ts'
import type { Config } from '../settings/load.ts'
import { variableOf, type SettingName } from '../settings/schema.ts'
import { namesModule, openModule } from './own-module.ts'
import { configError } from '../settings/config-error.ts'
import { readTextFile } from '../settings/text-file.ts'

/** A block takes seconds, and public nodes limit requests. */
const POLL_MS = 4_000
/** Each anchor costs a fee, and one anchor covers all batches before it. */
const INTERVAL_MS = 600_000
/** Of the embedded authority and ledger, so that a stamp and a block for each batch do not fill the disk. */
export const LOCAL_INTERVAL_MS = 60_000

/**
 * Opens the anchor of the settings and returns the sealer's options for it, which are empty for `none`. Throws
 * `CONFIG_ERROR` for settings that do not fit together.
 */
export async function anchorOptions(
  config: Config,
  ledgerDirectory: string,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Pick<SealerOptions, 'anchor' | 'anchorIntervalMs' | 'anchorPollIntervalMs'>> {
  const { anchorIntervalMs } = config
  if (config.anchor === 'none') return {}
  if (config.anchor === 'local')
    return {
      anchor: await openLocalLedger(ledgerDirectory, { clock }),
      anchorIntervalMs: anchorIntervalMs ?? LOCAL_INTERVAL_MS,
    }
  return {
    anchor: await (namesModule(config.anchor) ? openModule('anchor', config, logger) : openEvm(config)),
    anchorIntervalMs: anchorIntervalMs ?? INTERVAL_MS,
    anchorPollIntervalMs: POLL_MS,
  }
}

/** Loads the adapter of EVM chains only now: its package is optional. */
async function openEvm(config: Config): Promise<Anchor> {
  const evm = await import('../../adapters/evm/index.ts')
  return evm.openEvmAnchor({
    rpcUrls: config.evmRpcUrl ?? missing('evmRpcUrl'),
    chainId: config.evmChainId ?? missing('evmChainId'),
    account: await accountOf(config, evm),
    confirmations: config.evmConfirmations,
    maxFeePerGas: evm.weiOf(config.evmMaxFeeGwei),
    proxies: config,
  })
}

/** The account that signs, from a private key or a keystore. Exactly one must be set. */
async function accountOf(
  config: Config,
  { accountOfKeystore, accountOfPrivateKey }: typeof Evm,
): Promise<Evm.EvmAccount> {
  const { evmPrivateKey, evmKeystore } = config
  if ((evmPrivateKey === undefined) === (evmKeystore === undefined))
    throw configError(
      `EVIDENCE_ANCHOR=evm needs either ${variableOf('evmPrivateKey')} (or its _FILE) or ${variableOf('evmKeystore')}`,
    )
  if (evmPrivateKey !== undefined) return accountOfPrivateKey(evmPrivateKey)
  const json = readTextFile(variableOf('evmKeystore'), evmKeystore ?? missing('evmKeystore'), 'json')
  return accountOfKeystore(json, config.evmKeystorePassword ?? missing('evmKeystorePassword'))
}

/** A setting that the others need. */
function missing(name: SettingName): never {
  throw configError(`EVIDENCE_ANCHOR=evm needs ${variableOf(name)}`)
}

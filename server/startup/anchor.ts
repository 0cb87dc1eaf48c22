import { readFile } from 'node:fs/promises'
import type * as Evm from '../../adapters/evm/index.ts'
import { openLocalLedger } from '../../adapters/local-ledger/index.ts'
import { RegistryError, type Anchor, type Clock } from '../../core/index.ts'
import type { SealerOptions } from '../../sealer/index.ts'
import type { Config } from '../settings/config.ts'
import { assertInstalled } from './optional-packages.ts'
import { variableOf, type SettingName } from '../settings/settings.ts'

/** Blocks take seconds at least, and public nodes count what they are asked. */
const EVM_POLL_MS = 4_000
/** Each anchor costs: one in ten minutes covers whatever has gathered. */
const EVM_INTERVAL_MS = 600_000

export type AnchorSettings = Pick<
  Config,
  | 'anchor'
  | 'anchorIntervalMs'
  | 'evmRpcUrl'
  | 'evmChainId'
  | 'evmPrivateKey'
  | 'evmKeystore'
  | 'evmKeystorePassword'
  | 'evmConfirmations'
  | 'evmMaxFeeGwei'
>

/** What the sealer anchors with, by the settings: nothing for `none`. Throws `CONFIG_ERROR` where they cannot be used together. */
export async function anchorOptions(
  config: AnchorSettings,
  ledgerDirectory: string,
  clock: Clock,
): Promise<Pick<SealerOptions, 'anchor' | 'anchorIntervalMs' | 'anchorPollIntervalMs'>> {
  const { anchorIntervalMs } = config
  if (config.anchor === 'none') return {}
  if (config.anchor === 'local')
    return { anchor: await openLocalLedger(ledgerDirectory, { clock }), anchorIntervalMs: anchorIntervalMs ?? 0 }
  return {
    anchor: await openEvm(config),
    anchorIntervalMs: anchorIntervalMs ?? EVM_INTERVAL_MS,
    anchorPollIntervalMs: EVM_POLL_MS,
  }
}

async function openEvm(config: AnchorSettings): Promise<Anchor> {
  assertInstalled('ethers', 'EVIDENCE_ANCHOR=evm')
  const evm = await import('../../adapters/evm/index.ts')
  return evm.openEvmAnchor({
    rpcUrls: needed(config, 'evmRpcUrl'),
    chainId: needed(config, 'evmChainId'),
    account: await accountOf(config, evm),
    confirmations: config.evmConfirmations,
    maxFeePerGas: evm.weiOf(config.evmMaxFeeGwei),
  })
}

async function accountOf(
  config: AnchorSettings,
  { accountOfKeystore, accountOfPrivateKey }: typeof Evm,
): Promise<Evm.EvmAccount> {
  const { evmPrivateKey, evmKeystore } = config
  if ((evmPrivateKey === undefined) === (evmKeystore === undefined))
    throw new RegistryError(
      'CONFIG_ERROR',
      `With EVIDENCE_ANCHOR=evm set one of ${variableOf('evmPrivateKey')} (or its _FILE) and ${variableOf('evmKeystore')}`,
    )
  if (evmPrivateKey !== undefined) return accountOfPrivateKey(evmPrivateKey)
  const path = needed(config, 'evmKeystore')
  const json = await readFile(path, 'utf8').catch((cause: unknown) => {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable'
    throw new RegistryError(
      'CONFIG_ERROR',
      `${variableOf('evmKeystore')}: the file ${path} cannot be read (${reason})`,
      {
        cause,
      },
    )
  })
  return accountOfKeystore(json, needed(config, 'evmKeystorePassword'))
}

function needed<K extends keyof AnchorSettings & SettingName>(config: AnchorSettings, name: K) {
  const value = config[name]
  if (value === undefined) throw new RegistryError('CONFIG_ERROR', `With EVIDENCE_ANCHOR=evm set ${variableOf(name)}`)
  return value as Exclude<AnchorSettings[K], undefined>
}

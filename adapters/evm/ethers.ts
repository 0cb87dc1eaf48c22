import { RegistryError } from '../kit/index.ts'

/** What accounts need of ethers: signing, and reading keystore files. Nothing else in this folder needs it. */
const importEthers = async () => {
  const [{ SigningKey }, { computeAddress, Transaction }, { decryptKeystoreJson, isKeystoreJson }] = await Promise.all([
    import('ethers/crypto'),
    import('ethers/transaction'),
    import('ethers/wallet'),
  ])
  return { SigningKey, computeAddress, Transaction, decryptKeystoreJson, isKeystoreJson }
}

export type Ethers = Awaited<ReturnType<typeof importEthers>>

/**
 * Loads the optional peer dependency ethers. Throws `CONFIG_ERROR` with the command that installs it if it is missing.
 * `load` is an argument so that a test can let it fail.
 */
export async function loadEthers(load: () => Promise<Ethers> = importEthers): Promise<Ethers> {
  try {
    return await load()
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause
    throw new RegistryError('CONFIG_ERROR', 'An EVM account needs the package ethers: run npm install ethers', {
      cause,
    })
  }
}

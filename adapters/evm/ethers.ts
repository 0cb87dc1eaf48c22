import { loadWithPackage } from '../optional-package.ts'

/**
 * Loads what this folder needs of the optional peer dependency ethers: signing, reading keystore files, and the bytes
 * of transactions. Throws `CONFIG_ERROR` with the command that installs it if it is missing.
 */
export const loadEthers = () =>
  loadWithPackage('ethers', async () => {
    const [{ SigningKey }, { computeAddress, Transaction }, { decryptKeystoreJson, isKeystoreJson }] =
      await Promise.all([import('ethers/crypto'), import('ethers/transaction'), import('ethers/wallet')])
    return { SigningKey, computeAddress, Transaction, decryptKeystoreJson, isKeystoreJson }
  })

export type Ethers = Awaited<ReturnType<typeof loadEthers>>

import { render } from 'preact'
import { VerifyPage } from './pages/verify.tsx'
import { verifyDocument } from './pages/verify-document.ts'

/** The verification page without a server: a single file that a user saves. */
const root = document.querySelector('#app')
if (root !== null) render(<VerifyPage verify={verifyDocument} />, root)

import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { EvidenceRegistryError } from '../client/index.ts'
import { Failure } from './components/notice.tsx'
import { CategoriesPage } from './pages/categories.tsx'
import { CertificatePage } from './pages/certificate.tsx'
import { ChangeEvidencePage } from './pages/change-evidence.tsx'
import { EvidencePage } from './pages/evidence.tsx'
import { EvidencesPage } from './pages/evidences.tsx'
import { LogPage } from './pages/log.tsx'
import { NewEvidencePage } from './pages/new-evidence.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { SourceSystemsPage } from './pages/source-systems.tsx'
import { VerifyPage } from './pages/verify.tsx'
import { hrefOf, useLocation, type Location } from './router.ts'
import { forget, hasLevel, publicClient, remembered, SessionContext, signIn, type Session } from './session.ts'
import { texts } from './texts.ts'

/** Of the package: `vite.config.mjs` puts it here. */
declare const VERSION: string

/** The whole dashboard: the frame, and the page of the current location. */
export function App() {
  const location = useLocation()
  const [session, setSession] = useState<Session>()
  const [isRestoring, setRestoring] = useState(() => remembered() !== undefined)
  const [error, setError] = useState<unknown>()
  /** Signs in with the remembered key. Only a key that the service rejects is forgotten. */
  const restore = async (): Promise<void> => {
    const credentials = remembered()
    if (credentials === undefined) return
    setRestoring(true)
    setError(undefined)
    try {
      setSession(await signIn(credentials))
    } catch (failure) {
      if (failure instanceof EvidenceRegistryError && failure.status === 401) forget()
      else setError(failure)
    } finally {
      setRestoring(false)
    }
  }
  useEffect(() => void restore(), [])
  const changeSession = (next: Session | undefined): void => {
    setError(undefined)
    setSession(next)
  }
  const signOut = (): void => {
    forget()
    changeSession(undefined)
  }
  return (
    <SessionContext.Provider value={session}>
      <Frame location={location} session={session} onSignOut={signOut}>
        {error !== undefined && <Failure error={error} retry={() => void restore()} />}
        {isRestoring ? (
          <p role="status">{texts.loading}</p>
        ) : (
          <Page location={location} session={session} setSession={changeSession} />
        )}
      </Frame>
    </SessionContext.Provider>
  )
}

interface PageProps {
  readonly location: Location
  readonly session: Session | undefined
  readonly setSession: (session: Session) => void
}

/** The page of a location. Pages that need a key show the sign-in page first, and then continue. */
function Page({ location: { path, query }, session, setSession }: PageProps) {
  const [name = 'evidences', id, action] = path
  if (name === 'verify') return <VerifyPage key={id} client={publicClient} evidenceId={id} />
  if (name === 'certificate' && id !== undefined)
    return <CertificatePage key={id} evidenceId={id} externalId={action} />
  if (name === 'log') return <LogPage txId={id} />
  // A link with a company fills it in, also if the sign-in page is open already.
  const companyId = query.get('company') ?? ''
  if (session === undefined || name === 'sign-in')
    return <SignInPage key={companyId} companyId={companyId} isPage={name === 'sign-in'} onSignIn={setSession} />
  if (name === 'source-systems') return <SourceSystemsPage />
  if (name === 'categories') return <CategoriesPage />
  if (name === 'new-evidence') return <NewEvidencePage />
  if (name !== 'evidences') return <NotFound />
  if (id === undefined) return <EvidencesPage query={query} />
  if (action === 'update' || action === 'transfer')
    return <ChangeEvidencePage key={`${action}/${id}`} kind={action} externalId={id} />
  return <EvidencePage key={id} externalId={id} />
}

/** A wrong address, for example an old bookmark. */
function NotFound() {
  return (
    <>
      <h1>{texts.notFoundPage}</h1>
      <a href={hrefOf(['evidences'])}>{texts.goHome}</a>
    </>
  )
}

interface FrameProps {
  readonly location: Location
  readonly session: Session | undefined
  readonly onSignOut: () => void
  readonly children: ComponentChildren
}

/** What is around every page: the name, the navigation, and who is signed in. */
function Frame({ location, session, onSignOut, children }: FrameProps) {
  const main = useRef<HTMLElement>(null)
  const page = location.path.join('/')
  // After a change of the page, screen readers and the keyboard continue at its heading. A layout effect, so that a key
  // that is pressed as soon as the page is visible starts there.
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [page])
  const focusMain = (event: Event): void => {
    event.preventDefault()
    main.current?.focus()
  }
  return (
    <>
      {/* The fragment of the address is the page, so the link moves the focus by script. */}
      <a class="skip-link" href="#main" onClick={focusMain}>
        {texts.skip}
      </a>
      <header class="top">
        <div class="top-inner">
          <span class="brand">{texts.product}</span>
          <Navigation page={location.path[0] ?? 'evidences'} session={session} />
          {session ? (
            <span class="row">
              <span class="muted">
                {session.companyId} · {session.system.name}
              </span>
              <button onClick={onSignOut}>{texts.nav.signOut}</button>
            </span>
          ) : (
            <a href={hrefOf(['sign-in'])}>{texts.nav.signIn}</a>
          )}
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <footer class="bottom muted">
        {texts.product} {VERSION} · <a href="licenses.txt">{texts.licenses}</a>
      </footer>
    </>
  )
}

/** Links to the pages. Those that the key cannot use are left out. */
function Navigation({ page, session }: { readonly page: string; readonly session: Session | undefined }) {
  const { nav } = texts
  const links = [
    ...(session ? [['evidences', nav.evidences] as const, ['categories', nav.categories] as const] : []),
    ['log', nav.log] as const,
    ['verify', nav.verify] as const,
    ...(session && hasLevel(session, 'A') ? [['source-systems', nav.sourceSystems] as const] : []),
  ]
  return (
    <nav class="nav" aria-label={nav.label}>
      {links.map(([name, text]) => (
        <a key={name} href={hrefOf([name])} {...(name === page && { 'aria-current': 'page' })}>
          {text}
        </a>
      ))}
      <a href="../docs">{nav.api}</a>
    </nav>
  )
}

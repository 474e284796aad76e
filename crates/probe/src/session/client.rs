//! The client's side of a conversation.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use crosstalk_core::{Fault, FaultKind};

use super::protocol::{Ready, Request, Response, VERSION};
use crosstalk_work::peer::socket::{closed_fault, connect, connection_fault};
use crosstalk_work::peer::{Deadline, Line};

/// What a server reports of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerInfo {
    /// The name of its clock, if it has one.
    pub clock: Option<String>,
    /// The processors it may use; empty if it does not report them.
    pub cpus: Vec<usize>,
}

/// Connects to a server for the probe `kind`. Returns the conversation, and what the server reports of itself.
///
/// # Errors
/// Where nobody listens at `target`, or something other than a probe's server; where the server is
/// busy or has another version; interrupted.
pub fn open_conversation(
    target: SocketAddr,
    kind: &str,
    until: &Deadline,
) -> Result<(Line, ServerInfo), Fault> {
    let stream = connect(target, until).map_err(|f| {
        f.remedy(format!(
            "start the server: `crosstalk probe {kind} --listen {target}`, \
             and check the route and the firewall between the hosts"
        ))
    })?;
    let mut line = Line::new(stream)?;
    line.send(&Request::Hello { version: VERSION })?;
    let response = line.receive(until).and_then(|response| response.ok_or_else(|| closed_fault(target)));
    let response = response.map_err(|fault| match fault.kind {
        FaultKind::Interrupted => fault,
        _ => fault.remedy(format!(
            "see what listens there (`ss -ltnp`): expected `crosstalk probe {kind} --listen {target}`"
        )),
    })?;
    match not_refused(&line, response)? {
        Response::Hello { version: VERSION, clock, cpus } => Ok((line, ServerInfo { clock, cpus })),
        Response::Hello { version, .. } => Err(Fault::environment(format!(
            "the server speaks version {version} of the probes' protocol, this client {VERSION}"
        ))
        .at(target.to_string())
        .remedy("run the same version of crosstalk on both hosts")),
        Response::Busy { seconds } => {
            Err(Fault::environment("the server is busy: it measures with another client")
                .at(target.to_string())
                .remedy(format!(
                    "try again in about {seconds:.0} s, or start another server on another port"
                )))
        }
        other => Err(unexpected_fault(target, &other)),
    }
}

/// Waits for a response that is not a refusal.
///
/// # Errors
/// Where the server refuses, hangs up or does not respond in time.
pub fn read_response(line: &mut Line, until: &Deadline) -> Result<Response, Fault> {
    match line.receive(until)? {
        Some(response) => not_refused(line, response),
        None => Err(closed_fault(line.peer())),
    }
}

fn not_refused(line: &Line, response: Response) -> Result<Response, Fault> {
    match response {
        Response::Refused { reason } => {
            Err(Fault::attempt(format!("the server refused: {reason}")).at(line.peer().to_string()))
        }
        response => Ok(response),
    }
}

/// Asks for a session, and returns what the server is ready with.
///
/// # Errors
/// Where the server refuses, or answers something else.
pub fn request_session(line: &mut Line, request: &Request, until: &Deadline) -> Result<Ready, Fault> {
    line.send(request)?;
    match read_response(line, until)? {
        Response::Ready(ready) => Ok(ready),
        other => Err(unexpected_fault(line.peer(), &other)),
    }
}

/// The fault for a response to another request.
pub fn unexpected_fault(server: SocketAddr, response: &Response) -> Fault {
    Fault::attempt(format!("the server sent an unexpected response: {response:?}")).at(server.to_string())
}

/// The client's data connection, which has shown the token.
///
/// # Errors
/// Where the server cannot be reached.
pub fn connect_data_stream(target: SocketAddr, token: u64, until: &Deadline) -> Result<TcpStream, Fault> {
    let mut stream = connect(target, until)?;
    stream.write_all(&token.to_le_bytes()).map_err(|e| connection_fault(target, &e))?;
    Ok(stream)
}
